"""Somebody else's CSV file, of which single cells are replaced and every other byte stays as it is.

The csv module forgets how a cell was quoted and how a line ended, so a file that it wrote is never the file
that it read. Here each cell keeps the place where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")


class SheetError(ValueError):
    """The file cannot be used. The message says what was seen and what to do, without the file's name."""


class _QuoteError(SheetError):
    pass


@dataclass(frozen=True)
class Cell:
    """One cell: its ``text``, and the bytes ``start`` to ``end`` in which it stands, quotes included."""

    start: int
    end: int
    text: str
    quoted: bool


@dataclass(frozen=True)
class Sheet:
    """A CSV file in UTF-8. Blank lines are no rows; a row has as many cells as its line."""

    content: bytes
    delimiter: str
    rows: tuple[tuple[Cell, ...], ...]

    def texts(self, row: int) -> tuple[str, ...]:
        return tuple(cell.text for cell in self.rows[row])

    def text(self, row: int, column: int) -> str:
        """The text of a cell, without the spaces around it; "" where the row does not reach so far."""
        cells = self.rows[row]
        return cells[column].text.strip() if column < len(cells) else ""

    def replaced(self, texts: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other texts in the cells of these rows and columns. A cell that was in quotes stays
        so. Raises LookupError for a cell that is not there."""
        pieces, position = [], 0
        changes = {self.rows[row][column]: text for (row, column), text in texts.items()}
        for cell in sorted(changes, key=lambda cell: cell.start):
            pieces += [self.content[position : cell.start], self._written(changes[cell], cell.quoted)]
            position = cell.end
        return b"".join((*pieces, self.content[position:]))

    def _written(self, text: str, quoted: bool) -> bytes:
        if quoted or any(special in text for special in (self.delimiter, '"', "\n", "\r")):
            text = '"' + text.replace('"', '""') + '"'
        return text.encode()


def read_sheet(content: bytes, delimiter: str) -> Sheet:
    """The cells of a CSV file. Raises `SheetError` for bytes that are not UTF-8 and for quotes that do not
    close, or close within a cell: what takes the file in would read it in another way, or not at all."""
    return Sheet(content, delimiter, tuple(_rows(content, delimiter)))


def heading(content: bytes, delimiter: str) -> tuple[str, ...]:
    """The texts of the first row, cut at this delimiter; none where it is surely another. Raises `SheetError`
    for bytes that are not UTF-8."""
    rows = _rows(content, delimiter)
    try:
        return tuple(cell.text for cell in next(rows, ()))
    except _QuoteError:
        return ()


def _rows(content: bytes, delimiter: str) -> Iterator[tuple[Cell, ...]]:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise SheetError(
            f"It is not text in UTF-8 (byte {error.start}): export it again, and do not save it from a "
            "spreadsheet, or save it there as CSV in UTF-8."
        ) from error
    number, position = 1, len(_BOM) if content.startswith(_BOM) else 0
    plain = re.compile(b"[^\r\n%s]*" % re.escape(delimiter.encode()))
    while position < len(content):
        cells, position = _row(content, position, delimiter.encode(), plain, number)
        if any(cell.start < cell.end for cell in cells):
            number += 1
            yield cells


def _row(
    content: bytes, position: int, delimiter: bytes, plain: re.Pattern[bytes], number: int
) -> tuple[tuple[Cell, ...], int]:
    """The cells of the row at ``position``, and where the next row begins."""
    cells = []
    while True:
        cell = _quoted(content, position, number) if content[position : position + 1] == b'"' else None
        if cell is None:
            end = plain.match(content, position).end()  # type: ignore[union-attr]  # it may be empty
            cell = Cell(position, end, content[position:end].decode(), quoted=False)
        cells.append(cell)
        position = cell.end
        behind = content[position : position + 1]
        if behind == delimiter:
            position += 1
        elif content[position : position + 2] == b"\r\n":
            return tuple(cells), position + 2
        elif behind in (b"\r", b"\n", b""):
            return tuple(cells), position + len(behind)
        else:
            raise _QuoteError(f"Row {number} has text behind a closing quote: export the file again.")


def _quoted(content: bytes, start: int, number: int) -> Cell:
    position = start + 1
    while (quote := content.find(b'"', position)) >= 0:
        if content[quote + 1 : quote + 2] != b'"':
            text = content[start + 1 : quote].replace(b'""', b'"').decode()
            return Cell(start, quote + 1, text, quoted=True)
        position = quote + 2
    raise _QuoteError(f"A quote that is opened in row {number} is never closed: export the file again.")


def decimal_mark(texts: Iterable[str], otherwise: str) -> str:
    """How the numbers of a file are written: with "." or ","; ``otherwise`` where none tells."""
    for text in texts:
        if _NUMBER.fullmatch(text.strip()) and (mark := text.strip().lstrip("-0123456789")[:1]):
            return mark
    return otherwise


def number_in(text: str) -> float | None:
    """The number that a cell holds, with a decimal point or a decimal comma."""
    text = text.strip()
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None
