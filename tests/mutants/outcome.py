"""Sorts graded mutants: killed, equivalent, survived. Prints the table."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.bench import Graded
from tests.mutants.make import Mutant

_EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def load_equivalent() -> dict[str, str]:
    """The mutants that are as right as the reference: id to reason.

    Raises ValueError for one listed twice.
    """
    reasons: dict[str, str] = {}
    for group in tomllib.loads(_EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]:
        for identity in group["ids"]:
            if identity in reasons:
                raise ValueError(f"equivalent.toml lists {identity!r} twice")
            reasons[identity] = group["reason"]
    return reasons


@dataclass(frozen=True)
class Outcome:
    """What came out of a run. ``stale`` are ids of ``equivalent.toml`` that are no mutant's (any more)."""

    graded: Sequence[Graded]
    equivalent: Mapping[str, str]
    stale: Sequence[str] = ()

    @property
    def survivors(self) -> list[Graded]:
        """Wrong passes: full marks, and no reason why that should be right."""
        return [one for one in self.graded if self.status(one) == "survived"]

    @property
    def wrongly_listed(self) -> list[Graded]:
        """Listed as right, and yet marks were lost: the list is wrong, or a right answer fails."""
        return [one for one in self.graded if one.lost and one.mutant.id in self.equivalent]

    @property
    def errors(self) -> list[Graded]:
        """What the grader could not grade."""
        return [one for one in self.graded if self.status(one) == "error"]

    @property
    def good(self) -> bool:
        return not (self.survivors or self.wrongly_listed or self.errors or self.stale)

    def status(self, one: Graded) -> str:
        if one.lost:
            return "killed"
        if one.errors:
            return "error"
        return "equivalent" if one.mutant.id in self.equivalent else "survived"


def stale(equivalent: Iterable[str], mutants: Iterable[Mutant]) -> list[str]:
    """The listed ids that no mutant has."""
    known = {mutant.id for mutant in mutants}
    return [identity for identity in equivalent if identity not in known]


def table(outcome: Outcome) -> str:
    """Mutants, killed, equivalent and survived, for each exercise and in all."""
    statuses = ("killed", "equivalent", "survived", "error")
    rows: dict[str, Counter[str]] = {}
    for one in outcome.graded:
        for row in (_row(one.mutant), "all"):
            rows.setdefault(row, Counter())[outcome.status(one)] += 1
    rows["all"] = rows.pop("all", Counter())
    width = max(map(len, rows))
    lines = [f"{'exercise':{width}}  mutants" + "".join(f"{status:>12}" for status in statuses)]
    for name, counts in rows.items():
        cells = "".join(f"{counts[status]:>12}" for status in statuses)
        lines.append(f"{name:{width}}  {counts.total():>7}{cells}")
    return "\n".join(lines)


def _row(mutant: Mutant) -> str:
    """A layer that several exercises use has a row of its own."""
    return mutant.exercises[0] if len(mutant.exercises) == 1 else "several (CustomLinearLayer)"


def details(outcome: Outcome) -> str:
    """What is wrong with the outcome, mutant by mutant, and which findings the mutants got."""
    parts = []
    for title, found in (
        ("Survived: a wrong pass, or to be listed in equivalent.toml with its reason", outcome.survivors),
        ("Listed in equivalent.toml, but marks were lost", outcome.wrongly_listed),
        ("The grader could not grade", outcome.errors),
    ):
        if found:
            parts.append(f"{title} ({len(found)}):\n" + "\n".join(map(_described, found)))
    if outcome.stale:
        parts.append(
            "Listed in equivalent.toml, but no mutant:\n" + "\n".join(f"  {i}" for i in outcome.stale)
        )
    codes = Counter(code for one in outcome.graded for code in one.codes)
    counts = "\n".join(f"  {count:>5}  {code}" for code, count in codes.most_common())
    return "\n\n".join([*parts, f"Findings (mutants that got each):\n{counts}"])


def _described(one: Graded) -> str:
    diff = "\n".join(f"      {line}" for line in one.mutant.diff.splitlines())
    said = "".join(f"\n      {text}" for text in (", ".join(one.codes), *one.errors) if text)
    return f"  line {one.mutant.line}, {one.mutant.id}\n{diff}{said}"
