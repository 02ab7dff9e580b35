"""What pages show of text that cannot be seen."""

from __future__ import annotations

from grader.report.pages import visible


def test_what_is_not_seen_is_shown_and_what_is_seen_stays() -> None:
    assert visible("a\tb\nc ✓ ä 中 🙂") == "a\tb\nc ✓ ä 中 🙂"
    assert visible("\x00\x1b\x7f\x9b\u202e\u200b") == "␀␛␡⟨U+009B⟩⟨U+202E⟩⟨U+200B⟩"
    assert (visible(0.5), visible(10.0), visible(3), visible(None)) == ("0.5", "10", 3, None)
