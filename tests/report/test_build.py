"""Points: all of a check's or none; what the grader could not carry out costs nothing and is never passed."""

from __future__ import annotations

import pytest

from grader.judge.findings import Finding
from grader.report.schema import exit_status
from tests.report.made import FACTS, LAB, all_passed, instead, report_on, verdict


def scores(report):
    return report.status, report.score, report.max_score, exit_status(report)


def test_all_cases_passed_is_full_marks_in_the_labs_order():
    report = report_on(all_passed())
    assert scores(report) == ("passed", 100, 100, 0)
    assert [exercise.name for exercise in report.exercises] == ["first", "second"]
    assert {exercise.status for exercise in report.exercises} == {"passed"}


def test_one_failed_case_loses_all_points_of_its_check_and_no_others():
    report = report_on(instead(verdict("second", "hidden", "failed", seed=2)))
    assert scores(report) == ("failed", 60, 100, 1)
    second = report.exercises[1]
    assert [(c.name, c.status, c.score, c.max_score) for c in second.checks] == [
        ("baseline", "passed", 20, 20), ("hidden", "failed", 0, 40),
    ]  # fmt: skip
    assert [case.status for case in second.checks[1].cases] == ["passed", "failed"]


def test_an_error_leaves_score_and_maximum_and_makes_the_grader_fail():
    report = report_on(instead(verdict("first", "hidden", "error", seed=1, detail="no port")))
    assert scores(report) == ("error", 70, 70, 3)
    first = report.exercises[0]
    assert (first.status, first.score, first.max_score) == ("error", 10, 10)
    assert first.checks[1].cases[-1].detail == "no port"


def test_a_failed_case_decides_a_check_although_another_could_not_be_carried_out():
    report = report_on(
        instead(verdict("first", "hidden", "failed", 1), verdict("first", "hidden", "error", 2))
    )
    assert report.exercises[0].checks[1].status == "failed"
    assert scores(report) == ("failed", 70, 100, 1)


def test_a_check_without_a_verdict_is_an_error_and_not_passed():
    report = report_on([v for v in all_passed() if v.case.check != "hidden"])
    assert scores(report) == ("error", 30, 30, 3)


def test_no_verdicts_at_all_give_no_points_and_no_pass():
    assert scores(report_on([])) == ("error", 0, 0, 3)


def test_exercises_that_were_not_asked_are_skipped_and_count_nowhere():
    report = report_on([v for v in all_passed() if v.case.exercise == "first"], only={"first"})
    assert scores(report) == ("passed", 40, 40, 0)
    assert report.exercises[1].status == "skipped"


def test_a_verdict_that_the_rubric_does_not_know_is_refused():
    with pytest.raises(ValueError, match="bonus"):
        report_on([*all_passed(), verdict("first", "bonus")])


def test_an_exercise_whose_function_is_missing_is_missing():
    gone = (Finding("function-missing", "Not defined.", "baseline", (0,)),)
    failed = [
        verdict("first", c, "failed", s, findings=gone)
        for c, s in (("baseline", 42), ("hidden", 1), ("hidden", 2))
    ]
    report = report_on(instead(*failed))
    assert report.exercises[0].status == "missing"
    assert scores(report) == ("failed", 60, 100, 1)


def test_findings_of_several_cases_of_a_check_are_one():
    report = report_on(
        instead(verdict("first", "hidden", "failed", 1), verdict("first", "hidden", "failed", 2))
    )
    assert [(f.code, f.check, f.ranks, f.line) for f in report.exercises[0].findings] == [
        ("no-update", "hidden", (0,), 12)
    ]


def test_output_is_kept_only_where_an_exercise_did_not_pass():
    said = ((0, "hello " * 1000 + "\x1b[2Jbye"),)
    report = report_on(instead(verdict("first", "hidden", "failed", 1, output=said)))
    assert report.exercises[1].output == ()
    (output,) = report.exercises[0].output
    assert (output.rank, len(output.text) <= 2000, output.text[-3:]) == (0, True, "bye")


def test_facts_of_the_run_are_recorded():
    report = report_on(all_passed())
    assert (report.seed, report.command, report.sandbox) == (99, FACTS.command, "bwrap")
    assert (report.launcher, report.device, report.seconds) == ("fork", "cpu", 4.2)
    assert report.machine == {"torch": "2.13.0"}
    assert report.submission.ignored[0].reason == "not Python"
    assert LAB.exercises[0].title == report.exercises[0].title
