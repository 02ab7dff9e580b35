"""What belongs together in the timelines of a case: a send and its receive, the calls of one collective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.report.schema import SpanRow, TimelineRow

Kind = Literal["collective", "send", "recv"]


@dataclass(frozen=True)
class Message:
    """The n-th send from one rank to another, and the receive that takes it."""

    source: int
    target: int
    send: SpanRow
    recv: SpanRow


@dataclass(frozen=True)
class Meeting:
    """One collective: the call that each of its ranks made of it."""

    calls: tuple[tuple[int, SpanRow], ...]


def kind(span: SpanRow) -> Kind:
    """By the operation's name: ``isend`` is a send, ``all_reduce`` a collective."""
    name = span.name.lower()
    if "recv" in name or "receive" in name:
        return "recv"
    return "send" if "send" in name else "collective"


def messages(rows: Sequence[TimelineRow]) -> list[Message]:
    """Of the sends that were taken, in the order of the senders. ``rows`` are whole: where a rank's first
    operations are left out, nobody knows which of its sends is the n-th, and it has no messages."""
    rows = [row for row in rows if not row.left_out]
    received: dict[tuple[int, int], list[SpanRow]] = {}
    for row in rows:
        for span in row.spans:
            if kind(span) == "recv" and span.peer is not None:
                received.setdefault((span.peer, row.rank), []).append(span)
    waiting = {pair: iter(spans) for pair, spans in received.items()}
    found = []
    for row in rows:
        for span in row.spans:
            if kind(span) == "send" and span.peer is not None:
                recv = next(waiting.get((row.rank, span.peer), iter(())), None)
                if recv is not None and recv.end is not None:
                    found.append(Message(row.rank, span.peer, span, recv))
    return found


def meetings(rows: Sequence[TimelineRow]) -> Iterator[Meeting]:
    """The n-th collectives of all ranks, as far as they have one name and happened at the same time.

    The recorder does not tell groups: where ranks disagree, those that agree are joined. Ranks whose first
    operations are left out are joined to nobody.
    """
    whole = [row for row in rows if not row.left_out]
    calls = {row.rank: [span for span in row.spans if kind(span) == "collective"] for row in whole}
    for number in range(max(map(len, calls.values()), default=0)):
        by_name: dict[str, list[tuple[int, SpanRow]]] = {}
        for rank, spans in calls.items():
            if number < len(spans):
                by_name.setdefault(spans[number].name, []).append((rank, spans[number]))
        for same in by_name.values():
            if len(same) > 1:
                yield Meeting(tuple(same))


def computing(row: TimelineRow, until: float) -> list[tuple[float, float]]:
    """When a rank computes: from its beginning to its end (or ``until``) but for its spans. Behind a span
    that never ended it does nothing, and nothing is known of the time before the first span where others
    are left out."""
    spans = sorted(row.spans, key=lambda span: span.begin)
    if row.left_out and not spans:
        return []
    gaps, free_from = [], spans[0].begin if row.left_out else row.begin
    for span in spans:
        if span.begin > free_from:
            gaps.append((free_from, span.begin))
        if span.end is None:
            return gaps
        free_from = max(free_from, span.end)
    end = until if row.end is None else row.end
    return [*gaps, (free_from, end)] if end > free_from else gaps
