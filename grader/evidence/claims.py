"""What a run says of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.evidence.runs import Run
from grader.exercises.contract import Lab
from grader.judge.text import clean_line


@dataclass(frozen=True)
class Claim:
    """What a log says of one part: the ranks with ``Tensors match: True`` only, and those with a ``False``.
    ``part`` is an exercise's name; where it is none's, the prefix of the comparison. ``expected`` is what it
    should say."""

    part: str
    matching: tuple[int, ...]
    not_matching: tuple[int, ...]
    expected: bool = True

    @property
    def unexpected(self) -> tuple[int, ...]:
        """The ranks that say something else."""
        return self.not_matching if self.expected else self.matching


def claims_of(run: Run, lab: Lab, prefixes: Mapping[str, str | None]) -> list[Claim]:
    """The comparisons by part, in the lab's order, then those of no part that is known.

    ``prefixes`` are those that the code handed in uses, with the exercises. Comparisons without one, on
    rank 0, are of the exercises without one, one after the other: what a rank prints keeps its order.
    """
    printed = {part.name: part.printed for part in lab.exercises if part.printed}
    by_prefix = {prefix: name for prefix, name in prefixes.items() if name in printed}
    by_prefix |= {shown.prefix: name for name, shown in printed.items() if shown.prefix}
    used = {line.prefix for line in run.compared}
    elsewhere = {name for prefix, name in by_prefix.items() if prefix in used}
    bare = [name for name, shown in printed.items() if not shown.prefix and name not in elsewhere]
    said: dict[str, dict[int, bool]] = {name: {} for name in printed}
    for line in run.compared:
        part = by_prefix.get(line.prefix, line.prefix)
        if not line.prefix and line.rank == 0 and bare:
            part = bare.pop(0)
        ranks = said.setdefault(part, {})
        ranks[line.rank] = ranks.get(line.rank, True) and line.match
    return [
        Claim(
            clean_line(part, 60),
            tuple(sorted(rank for rank, match in ranks.items() if match)),
            tuple(sorted(rank for rank, match in ranks.items() if not match)),
            printed[part].match if part in printed else True,
        )
        for part, ranks in said.items()
        if ranks
    ]
