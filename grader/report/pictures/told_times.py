"""What a timeline's picture shows, in words: for those who do not see it, and for what is not in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from grader.report.pictures.spans import computing, kind
from grader.report.pictures.units import duration, ranges, ranks, size
from grader.report.schema import SpanRow, TimelineRow

STOPPED = "computed until it was stopped"


def call(span: SpanRow) -> str:
    """``recv from rank 2, line 233``."""
    direction = {"send": "to", "recv": "from"}.get(kind(span))
    peer = f" {direction} rank {span.peer}" if direction and span.peer is not None else ""
    return f"{span.name}{peer}{f', line {span.line}' if span.line else ''}"


def told(span: SpanRow) -> str:
    """The call, how long it took, and with how much."""
    return f"{call(span)}: {took(span)}{f', {size(span.bytes)}' if span.bytes else ''}"


def took(span: SpanRow) -> str:
    """How long a span took, if it ended."""
    return "never ended" if span.end is None else duration(max(0.0, span.end - span.begin))


def earlier(count: int) -> str:
    """What stands before the first span of a rank of which that many are left out."""
    return f"{count} operation{'s' * (count != 1)} before this {'are' if count != 1 else 'is'} not drawn"


def description(
    rows: Sequence[TimelineRow], stuck: Sequence[int], stopped: Collection[int], last: float
) -> str:
    """Who waits where, or how the ranks spent their time until ``last``, in seconds."""
    sentences = []
    for row in rows:
        waits = [call(span) for span in row.spans if span.end is None]
        sentences += [f"Rank {row.rank} never comes back from {one}." for one in waits]
        if row.rank in stopped:
            sentences.append(f"Rank {row.rank} {STOPPED}.")
    if not stuck and not stopped:
        counts = [len(row.spans) + row.left_out for row in rows]
        each = f"{min(counts)} to {max(counts)}" if min(counts) != max(counts) else str(counts[0])
        sentences.append(f"{len(rows)} ranks with {each} operations each, over {duration(last)}.")
        sentences += [_share(row, row.end) for row in rows[:8] if row.end is not None and not row.left_out]
    gone = [row.rank for row in rows if row.end is None and row.rank not in (*stuck, *stopped)]
    if gone:
        sentences.append(f"{ranks(gone).capitalize()} did not come to the end.")
    return " ".join(sentences)


def omitted(
    drawn: Sequence[TimelineRow], undrawn: Sequence[TimelineRow], whole: Sequence[TimelineRow]
) -> Iterator[str]:
    """A sentence for all that the picture does not show of the ``whole`` rows, which it was made from."""
    for row in drawn:
        if row.left_out:
            count = f"{row.left_out} operation{'s' * (row.left_out != 1)}"
            yield f"Rank {row.rank}: {count} before the first that is drawn, and what it computed, left out."
    if any(row.left_out for row in whole):
        yield "What a rank did after that is not joined to other ranks: nobody knows what belongs together."
    if undrawn:
        words = ranges(row.rank for row in undrawn)
        are = f"Rank {words} is" if len(undrawn) == 1 else f"Ranks {words} are"
        yield f"{are} not drawn; none of them waits in an operation."


def _share(row: TimelineRow, end: float) -> str:
    busy = sum(stop - begin for begin, stop in computing(row, end))
    return f"Rank {row.rank} computes {100 * busy / (end - row.begin or 1):.0f} % of its time."
