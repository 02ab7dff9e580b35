"""Text of a student, made safe to show."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from grader.judge.text import clean_line, clean_text


def test_escape_sequences_go_whole_and_line_ends_become_one_kind():
    assert clean_text("\x1b[1;31mred\x1b[0m\r\nnext\rlast\tone") == "red\nnext\nlast\tone"
    assert clean_text("\x1b]0;title\x07shown\x1b]8;;http://x\x1b\\link") == "shownlink"
    assert clean_text("a\x1bcb\x9b31m\x00") == "ab31m"


def test_marks_that_reorder_a_line_go():
    assert clean_text("a\u202eb\u2066c\ufeff") == "abc"


def test_long_text_keeps_its_beginning_and_its_end():
    text = clean_text("begin" + "x" * 10_000 + "end", 200)
    assert len(text) == 200
    assert text.startswith("beginx")
    assert text.endswith("xend")


def test_a_line_has_no_line_ends():
    assert clean_line(" a\n\n b\tc ") == "a b c"


@given(
    st.text(st.characters(), max_size=300) | st.text("\x1b[];m0\x07\\\r\n\ud800ab", max_size=60),
    st.integers(0, 200),
)
def test_whatever_comes_in_comes_out_bounded_and_encodable(text, limit):
    cleaned = clean_text(text, limit)
    assert len(cleaned) <= limit
    cleaned.encode()
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in cleaned)
