"""Other points and exercises that were asked again, without running anything."""

from __future__ import annotations

from grader.report.rescore import merged, rescored
from tests.report.made import all_passed, instead, report_on, verdict

POINTS = {"first": {"baseline": 1.0, "hidden": 2.0}, "second": {"baseline": 3.0, "hidden": 4.0}}


def test_verdicts_are_worth_the_new_points() -> None:
    report = report_on(instead(verdict("first", "hidden", "failed", seed=2)))
    again = rescored(report, POINTS)
    assert (again.score, again.max_score, again.status) == (8, 10, "failed")
    assert [part.score for part in again.exercises] == [1, 7]
    assert [check.score for check in again.exercises[0].checks] == [1, 0]
    assert again.exercises[0].findings == report.exercises[0].findings


def test_an_error_stays_worth_nothing_for_and_against() -> None:
    again = rescored(report_on(instead(verdict("first", "baseline", "error", seed=42))), POINTS)
    assert (again.score, again.max_score, again.status) == (9, 9, "error")


def test_rescoring_with_the_same_points_changes_nothing() -> None:
    report = report_on(instead(verdict("second", "hidden", "failed", seed=1)))
    points = {part.name: {check.name: check.max_score for check in part.checks} for part in report.exercises}
    assert rescored(report, points) == report


def test_an_exercise_that_was_asked_again_takes_the_place_of_the_old_one() -> None:
    before = report_on(instead(verdict("first", "hidden", "failed", seed=2)))
    first = [case for case in all_passed() if case.case.exercise == "first"]
    again = report_on(first, only=("first",))
    whole = merged(before, again)
    assert (whole.score, whole.max_score, whole.status) == (100, 100, "passed")
    assert whole == report_on(all_passed())
