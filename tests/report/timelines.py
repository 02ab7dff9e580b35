"""Timelines of ranks, made by hand: a deadlock, collectives, a pipeline."""

from __future__ import annotations

import random
from collections.abc import Sequence

from grader.report.schema import SpanRow, TimelineRow


def deadlocked(world_size: int) -> tuple[TimelineRow, ...]:
    rows = []
    for rank in range(world_size):
        begin = 0.0004 * rank
        at = begin + 0.0011 + 0.0003 * (rank % 3)
        met = SpanRow(name="barrier", begin=at, end=0.0034, file="assignment4.py", line=221)
        go = 0.0062 + 0.0004 * rank
        if rank == 0:
            span = SpanRow(
                name="send", begin=go + 0.0032, end=None, peer=1, bytes=8192, file="assignment4.py", line=241
            )
        else:
            span = SpanRow(name="recv", begin=go, end=None, peer=(rank + 1) % world_size, bytes=8192,
                           file="assignment4.py", line=233)  # fmt: skip
        rows.append(TimelineRow(rank=rank, begin=begin, end=None, spans=(met, span)))
    return tuple(rows)


def interrupted(world_size: int) -> tuple[TimelineRow, ...]:
    """A deadlock in which rank 1 is in no operation, the first operations of rank 2 are left out, and from
    rank 8 on all have come to the end."""
    rows = list(deadlocked(world_size))
    for rank in (1, *range(8, world_size)):
        end = None if rank == 1 else 0.01
        rows[rank] = rows[rank].model_copy(update={"spans": rows[rank].spans[:1], "end": end})
    rows[2] = rows[2].model_copy(update={"spans": rows[2].spans[1:], "left_out": 300})
    return tuple(rows)


def collectives(world_size: int, names: Sequence[str]) -> tuple[TimelineRow, ...]:
    """Each rank computes for a while of its own, and meets the others."""
    draw = random.Random(world_size)
    at = [0.0002 * rank for rank in range(world_size)]
    begins = list(at)
    spans: list[list[SpanRow]] = [[] for _ in at]
    for number, name in enumerate(names):
        come = [time + draw.uniform(0.0012, 0.0024) for time in at]
        done = max(come) + 0.0004
        at = [done + 0.00004 * rank for rank in range(world_size)]
        for rank in range(world_size):
            spans[rank].append(_span(name, come[rank], at[rank], None, 140 + 3 * number))
    return tuple(
        TimelineRow(rank=rank, begin=begins[rank], end=at[rank] + 0.0009, spans=tuple(spans[rank]))
        for rank in range(world_size)
    )


def pipeline(world_size: int, micro_batches: int = 4) -> tuple[TimelineRow, ...]:
    """GPipe: all forwards, then all backwards, with the bubble that it leaves."""
    forward, backward, wire = 0.0010, 0.0017, 0.00012
    spans: list[list[SpanRow]] = [[] for _ in range(world_size)]
    at = [0.0] * world_size
    for ranks, took, step in ((range(world_size), forward, 1), (range(world_size - 1, -1, -1), backward, -1)):
        for number in range(micro_batches):
            come = 0.0
            for place, rank in enumerate(ranks):
                if place:
                    end = max(at[rank], come) + wire
                    spans[rank].append(_span("recv", at[rank], end, rank - step, 233 if step > 0 else 262))
                    at[rank] = end
                at[rank] += took * (1 + 0.06 * ((rank + number) % 3))
                if place < world_size - 1:
                    come = at[rank] + wire
                    spans[rank].append(_span("send", at[rank], come, rank + step, 238 if step > 0 else 267))
                    at[rank] = come
    return tuple(
        TimelineRow(rank=rank, begin=0.0, end=at[rank] + 0.0006, spans=tuple(spans[rank]))
        for rank in range(world_size)
    )


def _span(name: str, begin: float, end: float, peer: int | None, line: int) -> SpanRow:
    return SpanRow(name=name, begin=begin, end=end, peer=peer, bytes=8192, file="assignment4.py", line=line)
