"""When each rank of a case communicated: for people to look at. Untrusted, like all that a rank leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from grader.job import JobResult
from grader.judge.operations import Operation, log_of, parse_operation

_MOST_SPANS = 200  # of a rank
_LONGEST = 1e6  # seconds; what is further away is no time of this case
_DTYPES = {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype)}


@dataclass(frozen=True)
class Span:
    """One operation of a rank: from its beginning, in seconds after the first rank began the case, to its
    ``end``; None when the rank did not come back from it. ``bytes`` are those of the rank's own tensor."""

    name: str
    begin: float
    end: float | None
    peer: int | None
    bytes: int
    file: str
    line: int


@dataclass(frozen=True)
class Timeline:
    """A rank's time in a case; an ``end`` of None when it did not come to the end of it. ``bytes`` are those
    of all its operations. ``spans`` are the last and whatever did not end; ``left_out`` are not there.
    """

    rank: int
    begin: float
    end: float | None
    spans: tuple[Span, ...]
    bytes: int = 0
    left_out: int = 0


def timelines(result: JobResult, case_index: int) -> tuple[Timeline, ...]:
    """A timeline of every rank that began the case."""
    ranks = range(result.job.world_size)
    made = [line for rank in ranks if (line := _timeline(result, case_index, rank)) is not None]
    if not made:
        return ()
    first = min(line.begin for line in made)
    return tuple(_since(first, line) for line in made)


def _timeline(result: JobResult, case_index: int, rank: int) -> Timeline | None:
    begin, end = None, None
    spans: dict[int, Span] = {}
    for said in log_of(result, case_index, rank):
        if not isinstance(said, dict):
            continue
        if begin is None:
            begin = _time(said, "began")
        elif (ended := _time(said, "ended")) is not None:
            end = ended
        elif "done" in said or "awaited" in said:
            _go_on(spans, said)
        else:
            at, operation = _time(said, "at"), parse_operation(said)
            if at is not None and operation is not None:
                spans[operation.number] = _span(operation, at)
    if begin is None:
        return None
    every = list(spans.values())
    open_before = [span for span in every[:-_MOST_SPANS] if span.end is None][:_MOST_SPANS]
    kept = (*open_before, *every[-_MOST_SPANS:])
    sent = min(sum(span.bytes for span in every), 2**62)
    return Timeline(rank, begin, end, kept, sent, len(every) - len(kept))


def _go_on(spans: dict[int, Span], said: Mapping[str, Any]) -> None:
    """A call returns; or its result is waited for, so that it is not over yet."""
    number, at = said.get("done", said.get("awaited")), _time(said, "at")
    if isinstance(number, int) and number in spans and at is not None:
        spans[number] = replace(spans[number], end=at if "done" in said else None)


def _span(operation: Operation, at: float) -> Span:
    dtype = _DTYPES.get(operation.dtype)
    size = 0 if operation.shape is None or dtype is None else math.prod(operation.shape) * dtype.itemsize
    peer = operation.peer if operation.is_message else None
    return Span(operation.name, at, None, peer, min(size, 2**62), operation.file, operation.line)


def _time(said: Mapping[str, Any], name: str) -> float | None:
    value = said.get(name)
    return value if isinstance(value, float) and math.isfinite(value) else None


def _since(first: float, line: Timeline) -> Timeline:
    def shifted(time: float) -> float:
        return round(min(max(0.0, time - first), _LONGEST), 6)

    spans = tuple(
        replace(
            span,
            begin=shifted(span.begin),
            end=None if span.end is None else max(shifted(span.begin), shifted(span.end)),
        )
        for span in line.spans
    )
    end = None if line.end is None else max(shifted(line.begin), shifted(line.end))
    return replace(line, begin=shifted(line.begin), end=end, spans=spans)
