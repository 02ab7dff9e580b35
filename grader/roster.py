"""The class list: who should have handed in."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class RosterError(Exception):
    """The roster cannot be used. The message names the file and what to do."""


@dataclass(frozen=True)
class Roster:
    """Rows of a CSV file with a heading, each with as many cells as ``columns``.

    A student is found by any cell of a row, without regard to case, accents' encoding or the order of a
    cell's words.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    _rows_of: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set), init=False, repr=False)

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            for key in (key for cell in row for key in _keys(cell)):
                self._rows_of[key].add(number)

    def row_of(self, student: str) -> int | None:
        """The row of a student as a hand-in names it: by a whole cell, or by most of the pieces (a name, an
        id) between its underscores. None where no row fits, or two fit as well."""
        if whole := self.rows_of(student):
            return min(whole) if len(whole) == 1 else None
        return self._best(student.split("_"))

    def rows_of(self, text: str) -> set[int]:
        """The rows that have ``text`` as a whole cell."""
        return {number for key in _keys(text) for number in self._rows_of.get(key, ())}

    def _best(self, pieces: Sequence[str]) -> int | None:
        hits = Counter(number for piece in set(pieces) for number in self.rows_of(piece))
        (first, most), (_, next_most) = (*hits.most_common(2), (-1, 0), (-1, 0))[:2]
        return first if most > next_most else None


def load_roster(path: Path) -> Roster:
    """Read a roster, of cells between commas, semicolons or tabs. Raises `RosterError`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        heading = text.lstrip().partition("\n")[0]
        delimiter = max(",;\t", key=heading.count)
        read = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
        rows = [row for cells in read if any(row := tuple(cell.strip() for cell in cells))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RosterError(f"The roster {path} cannot be read: {error}. Save it as CSV in UTF-8.") from error
    if len(rows) < 2:
        raise RosterError(f"The roster {path} has no student: a heading and a row for each are needed.")
    width = len(rows[0])
    seen: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise RosterError(f"Row {number} of the roster {path} has not the {width} cells of its heading.")
        if (first := seen.setdefault(row, number)) < number:
            raise RosterError(f"Row {number} of the roster {path} repeats row {first}: take one of them out.")
    return Roster(rows[0], tuple(rows[1:]))


def _keys(text: str) -> Iterator[str]:
    """What a cell and a name are compared by: "Lee, Ann", "Ann Lee" and Canvas's "leeann" are the same."""
    words = re.findall(r"[^\s,;]+", unicodedata.normalize("NFKC", text).casefold())
    if words:
        yield " ".join(sorted(words))
        if len(words) > 1:
            yield "".join(words)
            yield "".join(reversed(words))
