"""The class list: who should have handed in."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


class RosterError(Exception):
    """The roster cannot be used. The message names the file and what to do."""


@dataclass(frozen=True)
class Roster:
    """Rows of a CSV file with a heading; a student is found by any cell of its row, without regard to case.

    ``columns`` are the headings; each row has as many cells.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def row_of(self, student: str) -> int | None:
        """The row of a student as a hand-in names it: a whole cell, or an id or name that is part of it."""
        wanted = _key(student)
        for number, row in enumerate(self.rows):
            if wanted in {_key(cell) for cell in row}:
                return number
        pieces = {_key(piece) for piece in student.split("_")}
        for number, row in enumerate(self.rows):
            if pieces & {_key(cell) for cell in row if cell.strip()}:
                return number
        return None


def load_roster(path: Path) -> Roster:
    """Read a roster. Raises `RosterError`."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [tuple(cell.strip() for cell in row) for row in csv.reader(file) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RosterError(f"The roster {path} cannot be read: {error}. Save it as CSV in UTF-8.") from error
    if len(rows) < 2:
        raise RosterError(f"The roster {path} has no student: a heading and a row for each are needed.")
    width = len(rows[0])
    uneven = [number for number, row in enumerate(rows, start=1) if len(row) != width]
    if uneven:
        raise RosterError(f"Row {uneven[0]} of the roster {path} has not the {width} cells of its heading.")
    return Roster(rows[0], tuple(rows[1:]))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())
