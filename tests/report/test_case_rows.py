"""What a report keeps of the cases for people to look at."""

from __future__ import annotations

from grader.judge.differences import Difference
from grader.judge.timeline import Span, Timeline
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


def test_a_finding_about_a_line_that_is_not_there_quotes_nothing() -> None:
    changed = verdict("first", "hidden", "failed", seed=1)
    for lines in ({}, {"tiny.py": ["one"]}, {"other.py": ["x"] * 20}):
        (finding,) = report_on(instead(changed), sources=lines).exercises[0].findings
        assert finding.source == ()
