"""What a report says of the logs handed in, and what a rubric may give for them."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from grader.evidence import Claim, Evidence
from grader.report.evidence import evidence_exercise, evidence_part
from grader.report.gradebook import Row, gradebook
from grader.report.html import render_html
from grader.report.markdown import markdown
from grader.report.plain import check_text
from grader.report.rescore import merged, rescored
from grader.report.schema import Report
from grader.report.terminal import print_report
from tests.report.made import all_passed, instead, report_on, verdict

POINTS = {"first": {"baseline": 10.0, "hidden": 30.0}, "second": {"baseline": 20.0, "hidden": 40.0}}
WITH_A_LOG = {**POINTS, "evidence": {"complete_log": 5.0}}
WHOLE = Evidence(
    ("run.log", "run.err"),
    ("What the log says is as it should be.",),
    world_size=1,
    claims=(Claim("first", (), (0,), expected=False), Claim("second", (0,), ())),
    complete=True,
    consistent=True,
)
HALF = Evidence(("run.log",), ("Part 2 is missing.", "Rank 0 is missing.", "It is of a run."), 1, (), False)
SECOND_FAILED = verdict("second", "baseline", "failed", seed=42)
CONTRADICTED = "The log says that part 2 matches; the code handed in does not."


def shown(report: Report) -> str:
    stream = io.StringIO()
    print_report(report, stream, 100)
    return stream.getvalue()


def test_a_report_without_logs_has_none_and_prints_nothing_of_them() -> None:
    report = report_on(all_passed())
    assert report.evidence is None
    assert "Log" not in shown(report)


def test_facts_are_in_the_report_and_change_no_verdict_and_no_score() -> None:
    plain = report_on(all_passed())
    for evidence in (WHOLE, HALF):
        report = report_on(all_passed(), evidence=evidence)
        assert report.evidence is not None and report.evidence.facts == evidence.facts
        assert report.evidence.files == evidence.files
        assert report.model_copy(update={"evidence": None}) == plain
        assert Report.from_json(report.to_json()) == report


def test_names_and_facts_are_cleaned() -> None:
    report = report_on(all_passed(), evidence=Evidence(("\x1b[31mrun.log",), ("a\x07\u202eb\nc",)))
    assert report.evidence is not None
    assert (report.evidence.files, report.evidence.facts) == (("run.log",), ("ab c",))


def test_a_part_that_the_log_calls_right_and_the_grader_wrong_is_named() -> None:
    report = report_on(instead(SECOND_FAILED), evidence=WHOLE)
    assert report.evidence is not None
    assert report.evidence.facts[0] == CONTRADICTED
    assert (report.evidence.complete, report.evidence.consistent) == (True, False)


def test_a_part_that_the_log_calls_wrong_and_the_grader_right_may_be_of_another_version() -> None:
    wrong = Evidence(
        ("run.log",), (), 1, (Claim("first", (), (0,), expected=False), Claim("second", (), (0,)))
    )
    report = report_on(all_passed(), evidence=wrong)
    assert report.evidence is not None and report.evidence.consistent is False
    assert report.evidence.facts[0].startswith("The log says that part 2 does not match; the code handed in")


@pytest.mark.parametrize(
    ("verdicts", "evidence"),
    [
        # It compares with its own baseline, which is wrong.
        (instead(SECOND_FAILED, verdict("first", "baseline", "failed", seed=42)), WHOLE),
        (instead(verdict("second", "hidden", "failed", seed=2)), WHOLE),  # at other sizes than the log's
        (instead(verdict("second", "baseline", "error", seed=42)), WHOLE),
        (instead(SECOND_FAILED), Evidence(("run.log",), WHOLE.facts, 4, WHOLE.claims, True, True)),
    ],
    ids=["own baseline", "hidden", "error", "other world size"],
)
def test_nothing_is_held_against_a_log_that_may_well_be_honest(verdicts, evidence) -> None:
    report = report_on(verdicts, evidence=evidence)
    assert report.evidence is not None
    assert (report.evidence.facts, report.evidence.consistent) == (WHOLE.facts, True)


def test_what_is_asked_again_is_held_against_the_log_as_a_whole() -> None:
    before = report_on(all_passed(), evidence=WHOLE)
    second = [case for case in instead(SECOND_FAILED) if case.case.exercise == "second"]
    again = report_on(second, only=("second",), evidence=WHOLE)
    assert again.evidence is not None and again.evidence.facts == WHOLE.facts
    assert merged(before, again).evidence == report_on(instead(SECOND_FAILED), evidence=WHOLE).evidence


def test_the_terminal_has_two_lines_of_a_log_that_is_not_whole_and_none_of_one_that_is() -> None:
    lines = [line for line in shown(report_on(all_passed(), evidence=HALF)).splitlines() if "Log" in line]
    assert lines == ["Log (no proof): Part 2 is missing.", "Log (no proof): Rank 0 is missing."]
    assert "Log" not in shown(report_on(all_passed(), evidence=WHOLE))
    assert f"Log (no proof): {CONTRADICTED}" in shown(report_on(instead(SECOND_FAILED), evidence=WHOLE))


@pytest.mark.parametrize(
    ("evidence", "status", "score"), [(WHOLE, "passed", 5), (HALF, "failed", 0), (None, "missing", 0)]
)
def test_points_for_a_log_are_a_line_of_their_own(evidence, status, score) -> None:
    report = report_on(all_passed(), evidence=evidence, log_points=5.0)
    line = report.exercises[-1]
    assert (line.name, line.status, line.score, line.max_score) == ("evidence", status, score, 5)
    assert (report.score, report.max_score) == (100 + score, 105)
    assert report.status == ("passed" if score else "failed")
    assert f"{score} / 5" in shown(report)
    row = Row("ann", report.status, report.score, 105, {part.name: part.score for part in report.exercises})
    assert f",{score}," in gradebook([row], tuple(WITH_A_LOG))


def test_points_for_a_log_do_not_ask_what_it_says() -> None:
    report = report_on(instead(SECOND_FAILED), evidence=WHOLE, log_points=5.0)
    assert report.exercises[-1].score == 5


@pytest.mark.parametrize("evidence", [WHOLE, HALF, None])
def test_kept_reports_are_rescored_when_a_log_becomes_worth_something_and_nothing_again(evidence) -> None:
    plain = report_on(all_passed(), evidence=evidence)
    with_points = report_on(all_passed(), evidence=evidence, log_points=5.0)
    assert rescored(plain, WITH_A_LOG) == with_points
    assert rescored(with_points, POINTS) == plain
    assert rescored(with_points, {**POINTS, "evidence": {"complete_log": 2.0}}).max_score == 102


def test_one_exercise_that_is_asked_alone_leaves_the_log_out() -> None:
    first = [case for case in all_passed() if case.case.exercise == "first"]
    again = report_on(first, only=("first",), evidence=WHOLE, log_points=5.0)
    assert (again.exercises[-1].status, again.max_score) == ("skipped", 40)
    whole = report_on(all_passed(), evidence=WHOLE, log_points=5.0)
    assert rescored(merged(whole, again), WITH_A_LOG) == whole


@pytest.mark.parametrize("rendered", [render_html, markdown])
def test_a_page_tells_what_the_logs_say_and_that_anybody_can_write_one(
    rendered: Callable[[Report], str],
) -> None:
    told = rendered(report_on(all_passed(), evidence=WHOLE))
    assert "What the log says is as it should be." in told
    assert "Anybody can write a log." in told
    assert "The logs handed in" not in rendered(report_on(all_passed()))


@pytest.mark.parametrize(("evidence", "why"), [(None, "No log was handed in"), (HALF, "Part 2 is missing.")])
def test_points_that_a_log_does_not_get_have_a_reason(evidence: Evidence | None, why: str) -> None:
    part = evidence_exercise(evidence_part(evidence) if evidence else None, 5.0)
    assert why in check_text(part, part.checks[0])
