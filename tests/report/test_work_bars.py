"""Work and communication beside theory."""

from __future__ import annotations

from grader.report.pictures.work_bars import work_bars
from tests.report.examples import case, with_work
from tests.report.timelines import collectives


def test_nothing_is_drawn_where_nothing_was_measured() -> None:
    assert work_bars(case()) == ()


def test_a_rank_that_does_four_times_its_share_is_seen_beyond_the_mark() -> None:
    flops, _ = work_bars(with_work(case(), (1, 1, 4, 1)))
    assert [bar.ratio for bar in flops.bars] == ["as in theory", "as in theory", "4 × theory", "as in theory"]
    assert flops.bars[2].mark is not None
    assert round(flops.bars[2].width) == round(4 * (flops.bars[2].mark - flops.left))
    assert "Rank 2: 1.57 M FLOPs, in theory 393 k." in flops.description


def test_bytes_are_those_of_the_timeline_where_there_is_one() -> None:
    timed = with_work(case(timeline=collectives(4, ("all_reduce",) * 3)))
    assert {bar.done for bar in work_bars(timed)[1].bars} == {3 * 8192}
    assert {bar.done for bar in work_bars(with_work(case()))[1].bars} == {64 * 32 * 4}


def test_bytes_are_those_that_were_counted_however_few_operations_are_drawn() -> None:
    timed = with_work(case(timeline=collectives(4, ("all_reduce",) * 3)))
    work = tuple(row.model_copy(update={"bytes": 1_000_000 * (row.rank != 3)}) for row in timed.work)
    bars = work_bars(timed.model_copy(update={"work": work}))[1].bars
    assert [bar.done for bar in bars] == [1_000_000] * 3 + [3 * 8192]


def test_without_theory_there_are_bars_and_no_marks() -> None:
    measured = with_work(case()).model_copy(update={"theory": ()})
    assert all(bar.mark is None and bar.ratio == "" for one in work_bars(measured) for bar in one.bars)


def test_where_theory_needs_nothing_what_was_done_is_told() -> None:
    timed = with_work(case(timeline=collectives(4, ("all_reduce",))))
    nothing = tuple(row.model_copy(update={"bytes": 0}) for row in timed.theory)
    _, passed_on = work_bars(timed.model_copy(update={"theory": nothing}))
    assert {bar.ratio for bar in passed_on.bars} == {"none needed"}
