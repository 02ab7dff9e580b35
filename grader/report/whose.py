"""Which row of a learning platform's file is whose.

A grade in the wrong row is worse than one that is missing. So an id counts only where it is a whole name, or
where the platform itself wrote it into the name of a hand-in (a "2" at the end of a name is no id), and an id
and a name that belong to different people are nobody's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePath

from grader.intake.errors import shown
from grader.intake.naming import Naming
from grader.report.gradebook import NOT_SUBMITTED, Row
from grader.roster import Roster

_NAMED = 20  # people in one sentence


@dataclass(frozen=True)
class Whose:
    """``results`` are the students' results by their row; ``sentences`` tell of those without one."""

    results: Mapping[int, Row]
    sentences: tuple[str, ...] = ()


class People:
    """Who is in the file, row by row: ``ids`` are columns of what only one person has, the surest first (a
    cell of "" tells nothing), ``names`` are people's names."""

    def __init__(self, ids: Sequence[Sequence[str]], names: Sequence[str]) -> None:
        self._ids, self._names = [_lookup(column) for column in ids], _lookup(names)

    def row_of(self, result: Row, naming: Naming, shared: Collection[str] = ()) -> int | str:
        """The row of a student, or why there is none: "nowhere", "twice" or "contradiction". ``shared`` are
        texts of the class's roster that tell nobody apart, such as a section."""
        name, given_id = _parts(result, naming)
        cells = [cell for cell in result.of_roster if cell not in shared]
        pairs = [" ".join(pair) for pair in combinations(result.of_roster, 2)]  # first and last name, perhaps
        known = [result.student, *cells]
        named = _rows(self._names, [*known, *pairs, name, result.student.replace("_", " ")])
        for column in self._ids:
            hits = _rows(column, [*known, given_id])
            if len(hits) > 1:
                return "twice"
            if hits:
                return min(hits) if not named or hits <= named else "contradiction"
        if len(named) > 1:
            return "twice"
        return min(named) if named else "nowhere"


def match(results: Iterable[Row], people: People, naming: Naming) -> Whose:
    """Whose result goes in which row. Who fits none, or shares one, is in the sentences."""
    found: dict[int, list[Row]] = defaultdict(list)
    left: dict[str, list[str]] = defaultdict(list)
    handed_in = [result for result in results if result.status != NOT_SUBMITTED]
    counts = Counter(cell for result in handed_in for cell in set(result.of_roster))
    shared = {cell for cell, times in counts.items() if times > 1}
    for result in handed_in:
        where = people.row_of(result, naming, shared)
        if isinstance(where, int):
            found[where].append(result)
        elif result.is_graded:
            left[where].append(result.student)
    sentences = []
    if left["nowhere"]:
        sentences.append(f"Graded, and not to be found in the file: {listed(left['nowhere'])}.")
    if left["twice"]:
        sentences.append(f"Graded, and more than one row of the file fits: {listed(left['twice'])}.")
    if left["contradiction"]:
        sentences.append(
            "Graded, and the id and the name are those of two people in the file (is it the file of another "
            f"assignment or course?): {listed(left['contradiction'])}."
        )
    for _, sharing in sorted(found.items()):
        if len(sharing) > 1:
            who = listed([one.student for one in sharing])
            sentences.append(f"One row of the file, left as it was, fits several hand-ins: {who}.")
    return Whose({row: one for row, (one, *more) in found.items() if not more}, tuple(sentences))


def listed(names: Sequence[str]) -> str:
    """Names for a sentence, the first of them where they are many."""
    told = ", ".join(shown(name) for name in names[:_NAMED])
    return told if len(names) <= _NAMED else f"{told} and {len(names) - _NAMED} more"


def _rows(lookup: Roster, texts: Iterable[str]) -> set[int]:
    return {number for text in texts for number in lookup.rows_of(text)}


def _lookup(column: Sequence[str]) -> Roster:
    return Roster(("",), tuple((text,) for text in column))


def _parts(result: Row, naming: Naming) -> tuple[str, str]:
    """The name and the id that the platform wrote into the hand-in's name, each "" where it did not."""
    for part in reversed(PurePath(result.file).parts):
        found = naming.match(part)
        if found and naming.student(part, is_folder=False) == result.student:
            return found["student"], found.groupdict().get("id") or ""
    return "", ""
