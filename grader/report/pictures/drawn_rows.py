"""Which of a case's timelines are drawn, and how much of each: a picture has room for so many."""

from __future__ import annotations

from collections.abc import Sequence

from grader.report.schema import SpanRow, TimelineRow

MOST_SPANS = 400  # of a rank
MOST_RANKS = 16
_LONGEST = 1e6  # seconds


def sensible(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    """By rank, with times that a job can have: the record is a rank's own."""
    return [_sensible(row) for row in sorted(rows, key=lambda row: row.rank)]


def chosen(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    """The first ranks, and every one that did not come back: those are what the picture is for."""
    first = {id(row) for row in sorted(rows, key=lambda row: not unfinished(row))[:MOST_RANKS]}
    return [row for row in rows if unfinished(row) or id(row) in first]


def unfinished(row: TimelineRow) -> bool:
    """Whether the rank did not come back from an operation."""
    return any(span.end is None for span in row.spans)


def shortened(row: TimelineRow) -> TimelineRow:
    """The row with its last spans, and all that never ended; the others are counted as left out."""
    kept = [
        span
        for number, span in enumerate(row.spans, 1)
        if span.end is None or number > len(row.spans) - MOST_SPANS
    ]
    left_out = max(0, row.left_out) + len(row.spans) - len(kept)
    return row.model_copy(update={"spans": tuple(kept), "left_out": left_out})


def _sensible(row: TimelineRow) -> TimelineRow:
    times = [row.begin, row.end or 0.0, *(max(span.begin, span.end or 0.0) for span in row.spans)]
    if max(times) <= _LONGEST:
        return row
    spans = tuple(span.model_copy(update=_bounded(span)) for span in row.spans)
    return row.model_copy(update={**_bounded(row), "spans": spans})


def _bounded(row: TimelineRow | SpanRow) -> dict[str, float | None]:
    return {"begin": min(row.begin, _LONGEST), "end": None if row.end is None else min(row.end, _LONGEST)}
