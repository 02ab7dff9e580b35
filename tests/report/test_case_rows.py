"""What a report keeps of the cases for people to look at."""

from __future__ import annotations

import pytest

from grader.judge.differences import Difference
from grader.judge.findings import Finding
from grader.judge.timeline import Span, Timeline
from grader.report.audience import for_audience
from tests.report.made import instead, report_on, verdict

DRAWN = {
    "differences": (Difference(0, "weight", (2, 1), ((0.5,), (None,))),),
    "timeline": (Timeline(0, 0.0, None, (Span("send", 0.25, None, 1, 8, "tiny.py", 3),)),),
}


def test_the_first_case_and_the_first_wrong_one_of_an_exercise_have_pictures() -> None:
    changed = [
        verdict("first", "baseline", seed=42, **DRAWN),
        verdict("first", "hidden", "failed", seed=1, **DRAWN),
        verdict("first", "hidden", "failed", seed=2, **DRAWN),
    ]
    report = report_on(instead(*changed))
    cases = [case for check in report.exercises[0].checks for case in check.cases]
    assert [(case.seed, bool(case.differences), bool(case.timeline)) for case in cases] == [
        (42, True, True),
        (1, True, True),
        (2, False, False),
    ]
    assert cases[0].differences[0].grid == ((0.5,), (None,))
    assert cases[0].timeline[0].spans[0].peer == 1


def test_a_finding_quotes_the_lines_around_its_own() -> None:
    lines = {"tiny.py": [f"line {number}" for number in range(1, 14)]}
    changed = verdict("first", "hidden", "failed", seed=1)
    (finding,) = report_on(instead(changed), sources=lines).exercises[0].findings
    assert finding.source == tuple((number, f"line {number}") for number in (10, 11, 12, 13))


def test_quoted_lines_keep_their_indentation() -> None:
    lines = {"tiny.py": ["if rank == 0:", "\tx = 1", "    y = 2"]}
    found = (Finding("exception", "It stopped.", "hidden", (0,), "tiny.py", 2),)
    changed = verdict("first", "hidden", "failed", seed=1, findings=found)
    (finding,) = report_on(instead(changed), sources=lines).exercises[0].findings
    assert [text for _, text in finding.source] == ["if rank == 0:", "    x = 1", "    y = 2"]


def test_a_finding_quotes_every_line_that_its_message_names() -> None:
    lines = {"tiny.py": [f"line {number}" for number in range(1, 31)]}
    message = "Rank 0 waits at line 12, rank 1 at line 25."
    changed = verdict("first", "hidden", "failed", seed=1, findings=(
        Finding("deadlock", message, "hidden", (0, 1), "tiny.py", 12),
    ))  # fmt: skip
    (finding,) = report_on(instead(changed), sources=lines).exercises[0].findings
    assert [number for number, _ in finding.source] == [*range(10, 15), *range(23, 28)]
    (shown,) = for_audience(report_on(instead(changed), sources=lines), "student").exercises[0].findings
    assert [number for number, _ in shown.source] == [*range(10, 15)]


@pytest.mark.parametrize(
    ("file", "line"), [("seed31337/tiny.py", 12), ("tiny.py", 31337), ("other.py", 3), ("tiny.py", 0)]
)
def test_a_place_that_is_not_in_the_hand_in_is_none(file: str, line: int) -> None:
    """A program can claim any, by compile(): it would tell a student what a hidden case is."""
    found = (Finding("exception", "It stopped.", "hidden", (0,), file, line),)
    span = Timeline(0, 0.0, 1.0, (Span("send", 0.25, 0.5, 1, 8, file, line),))
    changed = verdict("first", "hidden", "failed", seed=1, findings=found, timeline=(span,))
    report = report_on(instead(changed), sources={"tiny.py": ["pass"] * 20})
    for audience in ("instructor", "student"):
        text = for_audience(report, audience).to_json()
        assert "31337" not in text
        (finding,) = for_audience(report, audience).exercises[0].findings
        assert (finding.file, finding.line) == (("tiny.py", None) if file == "tiny.py" else (None, None))


def test_a_finding_about_a_line_that_is_not_there_quotes_nothing() -> None:
    changed = verdict("first", "hidden", "failed", seed=1)
    for lines in ({}, {"tiny.py": ["one"]}, {"other.py": ["x"] * 20}):
        (finding,) = report_on(instead(changed), sources=lines).exercises[0].findings
        assert finding.source == ()
