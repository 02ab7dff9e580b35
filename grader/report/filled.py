"""Filling one column of a learning platform's file with the scores of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.report.gradebook import Row, number
from grader.report.sheet import Sheet, decimal_mark, number_in
from grader.report.whose import listed


@dataclass(frozen=True)
class Filled:
    """The file with the scores in it, and sentences about what was not, or not quietly, filled in."""

    content: bytes
    sentences: tuple[str, ...]


@dataclass
class Column:
    """Scores for the ``column`` of a sheet whose students are in ``rows``, called ``names``. ``locked`` are
    texts of a cell that are no score and stay."""

    sheet: Sheet
    column: int
    rows: Sequence[int]
    names: Sequence[str]
    locked: Sequence[str] = ()
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    _ungraded: list[str] = field(default_factory=list)
    _locked: list[str] = field(default_factory=list)
    _short: list[str] = field(default_factory=list)
    _replaced: list[str] = field(default_factory=list)

    def fill(self, results: Mapping[int, Row], decimal: str) -> list[int]:
        """Put in the scores of those who have one, and return their places in ``rows``."""
        done = []
        for place, row in enumerate(self.rows):
            if place in results and self._fill(place, row, results[place], decimal):
                done.append(place)
        return done

    def _fill(self, place: int, row: int, result: Row, decimal: str) -> bool:
        name, old = self.names[place], self.sheet.text(row, self.column)
        if not result.is_graded or result.score is None:
            self._ungraded.append(f"{name} ({result.status.partition(':')[0]})")
        elif self.column >= len(self.sheet.rows[row]):
            self._short.append(name)
        elif old.casefold() in self.locked:
            self._locked.append(f"{name} ({old})")
        else:
            new = number(result.score).replace(".", decimal)
            before = number_in(old)
            if before is None or abs(before - result.score) >= 0.005:  # two decimals are what they keep
                self.texts[row, self.column] = new
                if old not in ("", "-"):
                    self._replaced.append(f"{name} ({old}, now {new})")
            return True
        return False

    def sentences(self, without_result: Sequence[str]) -> list[str]:
        """What `fill` did not do, or what it overwrote; ``without_result`` are people of whom nothing is
        known."""
        told = (
            (self._ungraded, "Left as they were, because they have no grade"),
            (self._locked, "Left as they were, because what stands there is no score"),
            (self._short, "Left as they were, because their row ends before the column"),
            (without_result, "Left as they were, because no result is theirs"),
            (self._replaced, "Another score stood there, and was replaced"),
        )
        return [f"{why}: {listed(names)}." for names, why in told if names]


def decimal_of(sheet: Sheet, columns: Sequence[int]) -> str:
    """The decimal mark of a file's numbers: that of the first with decimals in ``columns``. Where there is
    none, a comma in files whose cells are between semicolons, which are those of languages that write so."""
    texts = (sheet.text(row, column) for row in range(1, len(sheet.rows)) for column in columns)
    return decimal_mark(texts, "," if sheet.delimiter == ";" else ".")
