"""The report in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len

from grader.report.terminal import print_report
from tests.report.made import FACTS, all_passed, instead, report_on, verdict


class Stream(io.StringIO):
    def __init__(self, terminal=False, encoding="utf-8"):
        super().__init__()
        self._terminal, self._encoding = terminal, encoding

    encoding = property(lambda self: self._encoding)

    def isatty(self):
        return self._terminal


LONG = "The weight came back as it was before the step, so that nothing was updated. " * 4
FAILED = report_on(
    instead(
        verdict("second", "baseline", "failed", 42, message=LONG),
        verdict("second", "hidden", "failed", 1, message=LONG),
        verdict("first", "hidden", "error", 2, detail="no room on the disk"),
    )
)


def shown(report, stream=None, width=100):
    stream = stream or Stream()
    print_report(report, stream, width)
    return stream.getvalue()


def test_a_passed_report_shows_marks_scores_and_how_to_replay():
    text = shown(report_on(all_passed()))
    assert text.count("✓") == 4
    assert "✗" not in text
    assert "40 / 40" in text
    assert "ada: 100 / 100  full marks" in text
    assert "1.0e-07" in text
    assert FACTS.command in text


def test_a_failure_is_told_once_with_code_place_checks_and_sentence():
    text = shown(FAILED)
    assert text.count("no-update") == 1
    assert "tiny.py:12 · baseline, hidden · rank 0" in text
    assert " ".join(LONG.split()) in " ".join(text.split())
    assert text.count("✗") == 2


def test_an_error_is_neither_passed_nor_failed_and_says_why():
    text = shown(FAILED)
    first = next(line for line in text.splitlines() if line.strip().startswith("first"))
    assert "!" in first
    assert "hidden could not be graded, and costs nothing: no room on the disk" in text


def test_marks_that_are_lost_are_told_beside_an_error():
    assert "marks lost, and some checks could not be graded; they cost nothing" in shown(FAILED)
    error = report_on(instead(verdict("first", "hidden", "error", 2, detail="no room on the disk")))
    assert "  some checks could not be graded; they cost nothing" in shown(error)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_line_is_wider_than_the_terminal(width, terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    lines = shown(FAILED, Stream(terminal), width).splitlines()
    assert max(cell_len(line) for line in lines if "\x1b" not in line) <= width


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" not in shown(FAILED)
    assert "\x1b[" in shown(FAILED, Stream(terminal=True))


def test_a_stream_that_cannot_encode_marks_gets_plain_ones():
    text = shown(FAILED, Stream(encoding="ascii"))
    text.encode("ascii")
    assert " x " in text


def test_text_of_a_student_is_no_markup_and_no_escape_sequence():
    evil = "[bold red]x[/] [/nothing] :smile: \x1b[2J\x07 [link=http://x]y[/link]"
    text = shown(report_on(instead(verdict("first", "hidden", "failed", 1, message=evil))))
    assert "[bold red]x[/] [/nothing] :smile:" in text
    assert not set(text) & {"\x1b", "\x07"}


def test_skipped_exercises_and_notes_are_shown():
    facts = replace(FACTS, notes=("Run without a sandbox.",))
    text = shown(
        report_on([v for v in all_passed() if v.case.exercise == "first"], only=["first"], facts=facts)
    )
    assert "skipped" in text
    assert "Note: Run without a sandbox." in text
