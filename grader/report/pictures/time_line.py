"""What every rank did when: bars of computing and of communication, and what joins the ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.pictures.spans import Kind, computing, kind, meetings, messages
from grader.report.pictures.units import duration, ranks, size
from grader.report.schema import CaseRow, SpanRow, TimelineRow

_LEFT, _RIGHT, _TOP = 58.0, 14.0, 26.0
_SAID = 190.0  # pixels at the right edge, for what a rank waits in
_WIDTH = 850.0
_LANE, _BAR = 38.0, 18.0
_LEAST = 1.5  # pixels, so that a short span is seen
_MOST_SPANS = 400  # of a rank
_MOST_RANKS = 16
_LONGEST, _SHORTEST = 1e6, 1e-6  # seconds
_TICKS = 6

#: How high a bar is, of `_BAR`, and how far below the lane's upper edge it begins: told apart without colour.
_SHAPES: dict[Kind, tuple[float, float]] = {
    "collective": (1.0, 0.0),
    "send": (0.5, 0.0),
    "recv": (0.28, 0.36),
}


@dataclass(frozen=True)
class Bar:
    """A span of a rank. One that never ended runs to the right edge, and is ``stuck``; ``said`` stands
    behind it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    stuck: bool
    text: str
    said: str = ""


@dataclass(frozen=True)
class Lane:
    """One rank: its bars, from left to right, and the x at which it came to its end, if it did."""

    rank: int
    y: float
    height: float
    computing: tuple[Bar, ...]
    bars: tuple[Bar, ...]
    end: float | None


@dataclass(frozen=True)
class Arrow:
    """A message on its way from one lane to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class SpanLine:
    """A span in the table that stands for the picture."""

    rank: int
    span: SpanRow
    begin: str
    took: str
    bytes: str


@dataclass(frozen=True)
class TimeLine:
    """The lanes of a case. ``joins`` are SVG points of a line through the calls of one collective; ``ticks``
    are x and text. ``kinds`` are those that occur, ``stuck`` the ranks that did not come back."""

    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...]
    joins: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    kinds: tuple[str, ...]
    stuck: tuple[int, ...]
    left: float
    width: float
    height: float
    description: str
    lines: tuple[SpanLine, ...]
    left_out: int


def time_line(case: CaseRow) -> TimeLine | None:
    """The picture of a case, or None where no rank communicated."""
    rows = [_drawable(row) for row in sorted(case.timeline, key=lambda row: row.rank)[:_MOST_RANKS]]
    if not any(row.spans for row in rows):
        return None
    stuck = tuple(row.rank for row in rows if any(span.end is None for span in row.spans))
    scale = _Scale(_last(rows), bool(stuck))
    lanes = [_lane(row, number, scale) for number, row in enumerate(rows)]
    middles = {lane.rank: lane.y + _BAR / 2 for lane in lanes}
    return TimeLine(
        tuple(lanes),
        tuple(
            Arrow(scale.x(m.send.begin), middles[m.source], scale.x(m.recv.end or 0.0), middles[m.target])
            for m in messages(rows)
            if m.target in middles
        ),
        tuple(_join(meeting.calls, middles, scale) for meeting in meetings(rows)),
        scale.ticks(),
        tuple(dict.fromkeys(bar.kind for lane in lanes for bar in lane.bars if not bar.stuck)),
        stuck,
        _LEFT,
        _WIDTH,
        _TOP + _LANE * len(lanes) + 4,
        _description(rows, stuck),
        tuple(_line(row.rank, span) for row in rows for span in row.spans),
        sum(len(row.spans) for row in case.timeline) - sum(len(row.spans) for row in rows),
    )


class _Scale:
    """From seconds to pixels. Where something never ended there is room behind what is known."""

    def __init__(self, last: float, stuck: bool) -> None:
        self.end = _WIDTH - (_SAID if stuck else _RIGHT)
        self._last = max(last, _SHORTEST)
        self._room = (self.end - _LEFT) * (0.8 if stuck else 1.0)

    def x(self, seconds: float) -> float:
        return round(_LEFT + self._room * min(1.0, seconds / self._last), 2)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        step = 10 ** math.floor(math.log10(self._last / _TICKS))
        step *= next(factor for factor in (1, 2, 5, 10) if self._last / (step * factor) <= _TICKS)
        return tuple((self.x(n * step), _tick(n * step)) for n in range(int(self._last / step + 1e-9) + 1))


def _tick(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e6:.4g} µs" if seconds else "0"


def _drawable(row: TimelineRow) -> TimelineRow:
    """The row with its last spans, where everything stands still if it does, and with times that a job can
    have: the record is a rank's own."""
    times = [row.begin, row.end or 0.0, *(max(span.begin, span.end or 0.0) for span in row.spans)]
    if max(times) > _LONGEST:
        spans = tuple(span.model_copy(update=_bounded(span)) for span in row.spans)
        row = row.model_copy(update={**_bounded(row), "spans": spans})
    return (
        row if len(row.spans) <= _MOST_SPANS else row.model_copy(update={"spans": row.spans[-_MOST_SPANS:]})
    )


def _bounded(row: TimelineRow | SpanRow) -> dict[str, float | None]:
    return {"begin": min(row.begin, _LONGEST), "end": None if row.end is None else min(row.end, _LONGEST)}


def _last(rows: Sequence[TimelineRow]) -> float:
    ends = [time for row in rows for span in row.spans for time in (span.begin, span.end or 0.0)]
    return max(*ends, *(row.begin for row in rows), *(row.end or 0.0 for row in rows))


def _lane(row: TimelineRow, number: int, scale: _Scale) -> Lane:
    y = _TOP + number * _LANE + (_LANE - _BAR) / 2
    until = max([row.begin, *(span.end or span.begin for span in row.spans)])
    computes = tuple(
        Bar(
            scale.x(begin),
            y,
            _width(begin, end, scale),
            _BAR,
            "compute",
            False,
            f"computes for {duration(end - begin)}",
        )
        for begin, end in computing(row, until)
    )
    bars = tuple(_bar(span, y, scale) for span in row.spans)
    return Lane(row.rank, y, _BAR, computes, bars, None if row.end is None else scale.x(row.end))


def _width(begin: float, end: float, scale: _Scale) -> float:
    return round(max(_LEAST, scale.x(end) - scale.x(begin)), 2)


def _bar(span: SpanRow, y: float, scale: _Scale) -> Bar:
    part, down = _SHAPES[kind(span)]
    stuck = span.end is None
    x = scale.x(span.begin)
    width = scale.end - x if span.end is None else _width(span.begin, span.end, scale)
    if stuck:  # all of the bar's height, so that it is seen first
        part, down = 1.0, 0.0
    return Bar(
        x,
        y + down * _BAR,
        round(width, 2),
        round(part * _BAR, 2),
        kind(span),
        stuck,
        _told(span),
        _call(span),
    )


def _call(span: SpanRow) -> str:
    direction = {"send": "to", "recv": "from"}.get(kind(span))
    peer = f" {direction} rank {span.peer}" if direction and span.peer is not None else ""
    return f"{span.name}{peer}{f', line {span.line}' if span.line else ''}"


def _told(span: SpanRow) -> str:
    return f"{_call(span)}: {_took(span)}{f', {size(span.bytes)}' if span.bytes else ''}"


def _took(span: SpanRow) -> str:
    return "never ended" if span.end is None else duration(max(0.0, span.end - span.begin))


def _join(calls: Sequence[tuple[int, SpanRow]], middles: dict[int, float], scale: _Scale) -> str:
    """A line through the moment at which the last of them came, or where a rank was gone by then."""
    met = max(span.begin for _, span in calls)
    return " ".join(
        f"{scale.x(met if span.end is None else min(met, span.end)):g},{middles[rank]:g}"
        for rank, span in calls
    )


def _line(rank: int, span: SpanRow) -> SpanLine:
    return SpanLine(rank, span, duration(span.begin), _took(span), size(span.bytes) if span.bytes else "")


def _description(rows: Sequence[TimelineRow], stuck: Sequence[int]) -> str:
    sentences = []
    for row in rows:
        waits = [_call(span) for span in row.spans if span.end is None]
        sentences += [f"Rank {row.rank} never comes back from {call}." for call in waits]
    if not stuck:
        counts = [len(row.spans) for row in rows]
        each = f"{min(counts)} to {max(counts)}" if min(counts) != max(counts) else str(counts[0])
        sentences.append(f"{len(rows)} ranks with {each} operations each, over {duration(_last(rows))}.")
        sentences += [_share(row) for row in rows[:8]]
    gone = [row.rank for row in rows if row.end is None and row.rank not in stuck]
    if gone:
        sentences.append(f"{ranks(gone).capitalize()} did not come to the end.")
    return " ".join(sentences)


def _share(row: TimelineRow) -> str:
    end = row.end if row.end is not None else _last([row])
    busy = sum(stop - begin for begin, stop in computing(row, end))
    return f"Rank {row.rank} computes {100 * busy / (end - row.begin or 1):.0f} % of its time."
