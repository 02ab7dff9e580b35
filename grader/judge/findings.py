"""A finding: one named mistake, in one sentence or a few, for a student."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Finding:
    """A named mistake. ``message`` says what was observed, what it means and where to look.

    ``ranks`` are those on which it was seen, in order; ``file`` and ``line`` are the student's own,
    where one line can be named.
    """

    code: str
    message: str
    check: str
    ranks: tuple[int, ...] = ()
    file: str | None = None
    line: int | None = None


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each cause: those of one check with the same code and place, with their ranks united.

    Order and wording are those of the first of each.
    """
    merged: dict[tuple[str, str, str | None, int | None], Finding] = {}
    for finding in findings:
        key = (finding.check, finding.code, finding.file, finding.line)
        first = merged.get(key, finding)
        merged[key] = replace(first, ranks=tuple(sorted({*first.ranks, *finding.ranks})))
    return tuple(merged.values())


def name_ranks(ranks: Iterable[int]) -> str:
    """``rank 2``, ``ranks 0 and 3``, ``ranks 0, 1 and 3``."""
    numbers = [str(rank) for rank in sorted(set(ranks))]
    if len(numbers) < 2:
        return f"rank {''.join(numbers)}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"
