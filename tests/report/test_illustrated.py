"""Of many cases those are drawn that show something, and what went wrong is open."""

from __future__ import annotations

from grader.report.illustrated import figures
from grader.report.schema import CaseRow, CheckPart, DifferenceRow, ExercisePart, FindingRow
from tests.report.examples import case, deadlock, right, shard_order
from tests.report.timelines import collectives, deadlocked, pipeline


def part(*checks: tuple[str, tuple[CaseRow, ...]]) -> ExercisePart:
    made = tuple(CheckPart(name=n, status="failed", score=0, max_score=1, cases=cases) for n, cases in checks)
    return ExercisePart(name="one", title="One", status="failed", score=0, max_score=1, checks=made)


def off(name: str, seed: int = 1) -> CaseRow:
    row = DifferenceRow(rank=0, name=name, shape=(2, 2), grid=((0.5,),))
    return case(seed=seed, status="failed", differences=(row,))


def test_the_first_case_that_differs_is_drawn_and_the_others_are_counted() -> None:
    (figure,) = figures(part(("baseline", (case(),)), ("hidden", (off("w", 7), off("w", 8), off("w", 9)))))
    assert (figure.kind, figure.check, figure.case.seed, figure.others) == ("heat_map", "hidden", 7, 2)
    assert figure.open


def test_other_tensors_that_are_off_have_a_map_of_their_own() -> None:
    drawn = figures(part(("baseline", (off("weight"),)), ("input_gradient", (off("input_gradient"),))))
    assert [(one.check, one.open) for one in drawn] == [("baseline", True), ("input_gradient", False)]


def test_a_deadlock_is_drawn_before_cases_that_ended() -> None:
    ended = case(status="failed", timeline=pipeline(4))
    stuck = case(2, 5, status="failed", timeline=deadlocked(2))
    (figure,) = figures(part(("hidden", (ended, stuck))))
    assert figure.case.seed == 5 and figure.open and figure.time_line and figure.time_line.stuck


def test_a_rank_that_a_finding_says_has_ended_did_not_compute_until_it_was_stopped() -> None:
    rows = deadlocked(2)
    away = rows[1].model_copy(update={"spans": rows[1].spans[:1]})
    one = part(("baseline", (case(2, status="failed", timeline=(rows[0], away)),)))
    assert (line := figures(one)[0].time_line) and line.stopped == (1,)
    raised = FindingRow(code="exception", message="", check="baseline", ranks=(1,), file=None, line=None)
    assert (line := figures(one.model_copy(update={"findings": (raised,)}))[0].time_line)
    assert line.stopped == ()


def test_of_what_passed_the_case_with_the_most_ranks_is_drawn_and_nothing_is_open() -> None:
    cases = tuple(case(ranks, ranks, timeline=collectives(ranks, ("all_reduce",))) for ranks in (1, 2, 4))
    (figure,) = figures(part(("hidden", cases)))
    assert figure.case.world_size == 4 and not figure.open


def test_the_examples_have_the_pictures_that_they_are_about() -> None:
    by_name = {one.name: figures(one) for one in shard_order().exercises}
    assert [one.kind for one in by_name["column_parallel"] if one.open] == ["heat_map"]
    by_name = {one.name: figures(one) for one in deadlock().exercises}
    assert next(one.kind for one in by_name["pipeline"] if one.open) == "time_line"
    assert not any(one.open for exercise in right().exercises for one in figures(exercise))
