"""What every rank did when: bars of computing and of communication, and what joins the ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.report.pictures.drawn_rows import chosen, sensible, shortened, unfinished
from grader.report.pictures.spans import Kind, Message, computing, kind, meetings, messages
from grader.report.pictures.told_times import STOPPED, call, description, earlier, omitted, told, took
from grader.report.pictures.units import duration, size
from grader.report.schema import CaseRow, SpanRow, TimelineRow

_LEFT, _RIGHT, _TOP = 58.0, 14.0, 26.0
_SAID = 190.0  # pixels at the right edge, for what a rank waits in
_WIDTH = 850.0
_LANE, _BAR = 38.0, 18.0
_LEAST = 1.5  # pixels, so that a short span is seen
_SHORTEST = 1e-6  # seconds
_TICKS = 6
_ROOM_TO_SAY = 250.0  # pixels before a rank's first span, for what is left out there

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
    """One rank: its bars, from left to right, and the x at which it came to its end, if it did. ``stopped``
    is there where it was in no operation when it was stopped, and runs to the right edge. ``earlier`` says
    what is left out before the first bar, if there is room."""

    rank: int
    y: float
    height: float
    computing: tuple[Bar, ...]
    bars: tuple[Bar, ...]
    end: float | None
    stopped: Bar | None = None
    earlier: str = ""


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
    are x and text. ``kinds`` are those that occur, ``stuck`` the ranks that did not come back, ``stopped``
    those that were in no operation when they were stopped. ``left_out`` operations of them are not drawn;
    ``omitted`` are sentences about all that is not, ``undrawn`` the ranks that have no lane."""

    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...]
    joins: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    kinds: tuple[str, ...]
    stuck: tuple[int, ...]
    stopped: tuple[int, ...]
    left: float
    width: float
    height: float
    description: str
    lines: tuple[SpanLine, ...]
    left_out: int
    omitted: tuple[str, ...]
    undrawn: tuple[int, ...]


def time_line(case: CaseRow, gone: Collection[int] = ()) -> TimeLine | None:
    """The picture of a case, or None where no rank communicated. ``gone`` are ranks of which it is known that
    they ended by themselves before the end of the case."""
    whole = sensible(case.timeline)
    rows = [shortened(row) for row in chosen(whole)]
    if not any(row.spans for row in rows):
        return None
    stuck = tuple(row.rank for row in rows if unfinished(row))
    stopped = tuple(
        row.rank for row in rows if row.end is None and not unfinished(row) and row.rank not in gone
    )
    scale = _Scale(_last(rows), bool(stuck or stopped))
    lanes = [_lane(row, number, scale, row.rank in stopped) for number, row in enumerate(rows)]
    middles = {lane.rank: lane.y + _BAR / 2 for lane in lanes}
    spans = {id(span) for row in rows for span in row.spans}
    undrawn = [row for row in whole if row.rank not in middles]
    return TimeLine(
        tuple(lanes),
        tuple(_arrows(messages(whole), spans, middles, scale)),
        tuple(_joins(whole, spans, middles, scale)),
        scale.ticks(),
        tuple(dict.fromkeys(bar.kind for lane in lanes for bar in lane.bars if not bar.stuck)),
        stuck,
        stopped,
        _LEFT,
        _WIDTH,
        _TOP + _LANE * len(lanes) + (20 if undrawn else 4),
        description(rows, stuck, stopped, _last(rows)),
        tuple(_line(row.rank, span) for row in rows for span in row.spans),
        sum(row.left_out for row in rows),
        tuple(omitted(rows, undrawn, whole)),
        tuple(row.rank for row in undrawn),
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


def _last(rows: Sequence[TimelineRow]) -> float:
    ends = [time for row in rows for span in row.spans for time in (span.begin, span.end or 0.0)]
    return max(*ends, *(row.begin for row in rows), *(row.end or 0.0 for row in rows))


def _lane(row: TimelineRow, number: int, scale: _Scale, stopped: bool) -> Lane:
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
    end = None if row.end is None else scale.x(row.end)
    x = scale.x(until)
    last = Bar(x, y, round(scale.end - x, 2), _BAR, "compute", False, STOPPED, STOPPED) if stopped else None
    room = min((bar.x for bar in bars), default=_LEFT) - _LEFT
    before = earlier(row.left_out) if row.left_out and room >= _ROOM_TO_SAY else ""
    return Lane(row.rank, y, _BAR, computes, bars, end, last, before)


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
        told(span),
        call(span),
    )


def _arrows(
    found: Sequence[Message], drawn: Collection[int], middles: dict[int, float], scale: _Scale
) -> Iterator[Arrow]:
    """Of the messages whose both ends are ``drawn`` (identities of spans)."""
    for one in found:
        if id(one.send) in drawn and id(one.recv) in drawn:
            x1, x2 = scale.x(one.send.begin), scale.x(one.recv.end or 0.0)
            yield Arrow(x1, middles[one.source], x2, middles[one.target])


def _joins(
    rows: Sequence[TimelineRow], drawn: Collection[int], middles: dict[int, float], scale: _Scale
) -> Iterator[str]:
    """A line for each collective that at least two ``drawn`` calls are of."""
    for meeting in meetings(rows):
        calls = [(rank, span) for rank, span in meeting.calls if id(span) in drawn]
        if len(calls) > 1:
            yield _join(calls, middles, scale)


def _join(calls: Sequence[tuple[int, SpanRow]], middles: dict[int, float], scale: _Scale) -> str:
    """A line through the moment at which the last of them came, or where a rank was gone by then."""
    met = max(span.begin for _, span in calls)
    return " ".join(
        f"{scale.x(met if span.end is None else min(met, span.end)):g},{middles[rank]:g}"
        for rank, span in calls
    )


def _line(rank: int, span: SpanRow) -> SpanLine:
    return SpanLine(rank, span, duration(span.begin), took(span), size(span.bytes) if span.bytes else "")
