"""The timeline: a deadlock is where all bars stop, and what belongs together is joined."""

from __future__ import annotations

from grader.report.pictures.spans import computing, messages
from grader.report.pictures.time_line import TimeLine, time_line
from grader.report.schema import SpanRow, TimelineRow
from tests.report.examples import case
from tests.report.timelines import collectives, deadlocked, pipeline


def picture(timeline: tuple[TimelineRow, ...]) -> TimeLine:
    drawn = time_line(case(timeline=timeline))
    assert drawn is not None
    return drawn


def span(name: str, begin: float, end: float | None, peer: int | None = None) -> SpanRow:
    return SpanRow(name=name, begin=begin, end=end, peer=peer)


def row(rank: int, *spans: SpanRow, end: float | None = 10.0) -> TimelineRow:
    return TimelineRow(rank=rank, begin=0.0, end=end, spans=spans)


def test_nothing_is_drawn_where_nobody_communicated() -> None:
    assert time_line(case()) is None and time_line(case(timeline=(row(0),))) is None


def test_in_a_deadlock_every_bar_runs_to_the_right_edge() -> None:
    drawn = picture(deadlocked(4))
    stuck = [bar for lane in drawn.lanes for bar in lane.bars if bar.stuck]
    assert len(stuck) == 4 and drawn.stuck == (0, 1, 2, 3)
    assert len({bar.x + bar.width for bar in stuck}) == 1
    others = [bar for lane in drawn.lanes for bar in (*lane.bars, *lane.computing) if not bar.stuck]
    assert max(bar.x + bar.width for bar in others) < min(bar.x + bar.width for bar in stuck)
    assert "Rank 1 never comes back from recv from rank 2, line 233." in drawn.description


def test_behind_what_never_ended_a_rank_does_not_compute() -> None:
    assert computing(row(0, span("recv", 2.0, None, 1), end=None), 9.0) == [(0.0, 2.0)]


def test_between_its_spans_a_rank_computes() -> None:
    spans = (span("recv", 1.0, 3.0, 1), span("wait", 2.0, 4.0), span("send", 6.0, 7.0, 1))
    assert computing(row(0, *spans), 10.0) == [(0.0, 1.0), (4.0, 6.0), (7.0, 10.0)]


def test_the_nth_send_meets_the_nth_receive_of_its_pair() -> None:
    rows = (
        row(0, span("send", 1.0, 1.1, 1), span("isend", 2.0, 2.1, 2), span("send", 3.0, 3.1, 1)),
        row(1, span("recv", 0.0, 1.2, 0), span("recv", 2.0, 3.2, 0)),
        row(2, span("irecv", 0.5, 2.2, 0), span("recv", 3.0, 4.0, 1)),
    )
    found = [(one.source, one.target, one.send.begin, one.recv.end) for one in messages(rows)]
    assert found == [(0, 1, 1.0, 1.2), (0, 2, 2.0, 2.2), (0, 1, 3.0, 3.2)]


def test_a_send_that_nobody_took_has_no_arrow() -> None:
    rows = (row(0, span("send", 1.0, 1.1, 1), span("send", 2.0, None, 1)), row(1, span("recv", 0.0, None, 0)))
    assert picture(rows).arrows == ()


def test_a_pipeline_has_an_arrow_for_every_message() -> None:
    drawn = picture(pipeline(4, micro_batches=4))
    assert len(drawn.arrows) == 2 * 3 * 4
    assert all(arrow.y1 != arrow.y2 and arrow.x1 <= arrow.x2 for arrow in drawn.arrows)


def test_a_collective_is_joined_over_all_its_ranks_within_their_bars() -> None:
    drawn = picture(collectives(4, ("all_gather", "all_reduce")))
    assert len(drawn.joins) == 2
    for number, points in enumerate(drawn.joins):
        xs = [float(point.split(",")[0]) for point in points.split()]
        assert len(xs) == 4
        for lane, x in zip(drawn.lanes, xs, strict=True):
            bar = lane.bars[number]
            assert bar.x - 0.1 <= x <= bar.x + bar.width + 0.1


def test_collectives_of_different_names_are_not_joined() -> None:
    rows = (row(0, span("all_reduce", 1.0, None), end=None), row(1, span("broadcast", 1.0, None), end=None))
    assert picture(rows).joins == ()


ONE_IS_AWAY = (
    row(0, span("all_reduce", 1.0, None), end=None),
    row(1, span("barrier", 0.5, 0.6), end=None),
)


def test_a_rank_that_is_gone_is_told() -> None:
    drawn = time_line(case(timeline=ONE_IS_AWAY), gone=(1,))
    assert drawn and drawn.lanes[1].stopped is None and drawn.stopped == ()
    assert "Rank 1 did not come to the end." in drawn.description


def test_a_rank_that_is_in_no_operation_computed_until_it_was_stopped() -> None:
    drawn = picture(ONE_IS_AWAY)
    (stuck,) = drawn.lanes[0].bars
    last = drawn.lanes[1].stopped
    assert last and last.said == "computed until it was stopped" and drawn.stopped == (1,)
    assert last.x + last.width == stuck.x + stuck.width
    assert "Rank 1 computed until it was stopped." in drawn.description
    alone = picture((row(0, span("barrier", 0.5, 0.6), end=None),))
    assert alone.lanes[0].stopped and "its time" not in alone.description


def test_a_long_row_keeps_its_end_where_things_stand_still() -> None:
    many = [span("all_reduce", 0.01 * n, 0.01 * n + 0.001) for n in range(999)]
    drawn = picture((row(0, *many, span("recv", 9.99, None, 1), end=None),))
    assert drawn.left_out == 600 and drawn.lanes[0].bars[-1].stuck


def test_what_never_ended_is_drawn_however_long_ago_it_began() -> None:
    many = [span("all_reduce", 0.01 * n, 0.01 * n + 0.001) for n in range(1, 999)]
    drawn = picture((row(0, span("irecv", 0.0, None, 1), *many, end=None),))
    assert drawn.lanes[0].bars[0].stuck and len(drawn.lanes[0].bars) == 401


def test_before_the_first_span_of_a_shortened_rank_nothing_is_claimed() -> None:
    cut = row(0, span("send", 6.0, 7.0, 1), span("send", 8.0, 9.0, 1)).model_copy(update={"left_out": 500})
    assert computing(cut, 10.0) == [(7.0, 8.0), (9.0, 10.0)]
    drawn = picture((cut, row(1, span("recv", 1.0, 2.0, 0))))
    lane = drawn.lanes[0]
    assert min(bar.x for bar in (*lane.bars, *lane.computing)) == lane.bars[0].x
    assert lane.earlier == "500 operations before this are not drawn"
    assert drawn.omitted[0].startswith("Rank 0: 500 operations before the first that is drawn")
    assert "Rank 0 computes" not in drawn.description and "1 to 502 operations each" in drawn.description
    nothing = row(0).model_copy(update={"left_out": 3})
    assert computing(nothing, 10.0) == []


def test_what_is_left_out_is_told_below_where_the_lane_has_no_room() -> None:
    cut = row(0, span("barrier", 1.0, 2.0)).model_copy(update={"left_out": 1})
    drawn = picture((cut,))
    assert drawn.lanes[0].earlier == ""
    assert drawn.omitted[0].startswith("Rank 0: 1 operation before the first that is drawn")


def test_operations_of_a_shortened_rank_are_joined_to_nobody() -> None:
    rows = (
        row(0, span("send", 1.0, 1.1, 1), span("barrier", 3.0, 4.0)).model_copy(update={"left_out": 7}),
        row(1, span("recv", 0.0, 1.2, 0), span("barrier", 3.0, 4.0)),
    )
    drawn = picture(rows)
    assert drawn.arrows == () and drawn.joins == ()


def test_messages_are_paired_before_a_rank_is_shortened() -> None:
    others = [span("all_reduce", 3.0 + 0.001 * n, 3.0 + 0.001 * n) for n in range(400)]
    rows = (
        row(0, span("send", 1.0, 1.1, 1), span("send", 2.0, 2.1, 1), *others[1:]),
        row(1, span("recv", 1.0, 1.2, 0), span("recv", 2.0, 2.2, 0)),
    )
    (arrow,) = picture(rows).arrows  # the first send is not drawn, and its receive is not the second's
    assert arrow.x2 == picture(rows).lanes[1].bars[1].x + picture(rows).lanes[1].bars[1].width


def test_of_many_ranks_none_that_is_stuck_is_hidden_and_the_others_are_named() -> None:
    rows = [row(rank, span("barrier", 1.0, 2.0)) for rank in range(64)]
    rows[40] = row(40, span("barrier", 1.0, None), end=None)
    drawn = picture(tuple(rows))
    assert [lane.rank for lane in drawn.lanes] == [*range(15), 40] and drawn.stuck == (40,)
    assert drawn.omitted == (
        "Ranks 15 to 39 and 41 to 63 are not drawn; none of them waits in an operation.",
    )
    assert drawn.undrawn == (*range(15, 40), *range(41, 64))
    all_stuck = [row(rank, span("barrier", 1.0, None), end=None) for rank in range(20)]
    assert len(picture(tuple(all_stuck)).lanes) == 20


def test_times_that_make_no_sense_are_drawn_all_the_same() -> None:
    rows = (row(0, span("send", 5.0, 1.0, 9), end=0.0), row(1, span("recv", 0.0, 0.0, 0), end=0.0))
    drawn = picture(rows)
    assert all(bar.width > 0 for lane in drawn.lanes for bar in lane.bars)
    picture((row(0, span("barrier", 0.0, 0.0), end=0.0),))
