"""The gradebook that Canvas exports, with the scores of one assignment filled in.

What Canvas takes in again follows its ``lib/gradebook_importer.rb``; see the project's facts, section 2.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.intake.naming import Naming
from grader.report.filled import Column, Filled, decimal_of
from grader.report.gradebook import Row, number
from grader.report.sheet import Sheet, SheetError, heading, number_in, read_sheet
from grader.report.whose import People, listed, match

_TOTALS = re.compile("(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")
_TITLE_AND_ID = re.compile(r"(?P<title>.*?)\s*\((?P<id>\d+)\)\s*", re.DOTALL)
_MUTED = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE | re.DOTALL)
_READ_ONLY = re.compile(r"read\s+only")
_NO_SCORE = ("ex", "n/a")  # excused; the assignment is not this student's


@dataclass(frozen=True)
class CanvasExport:
    """A gradebook as Canvas exported it: the ``column`` to fill, and the ``rows`` of students. ``points_row``
    is that of "Points Possible", where there is one; ``name_columns`` are one, or those of last and first
    name."""

    sheet: Sheet
    column: int
    rows: tuple[int, ...]
    points_row: int | None
    name_columns: int


def read_canvas(content: bytes, column: str | None = None) -> CanvasExport:
    """The export, and the assignment's column in it: the one with the title, the id, or both, that ``column``
    says, or the only one there is. Raises `SheetError`, which lists the columns there are."""
    sheet, names = _read(content)
    first = _student_columns(sheet.texts(0), names)
    points, rows = None, []
    for row in range(1, len(sheet.rows)):
        if "Points Possible" in sheet.text(row, 0):
            points = row
        elif not all(_MUTED.fullmatch(text) for text in sheet.texts(row)):
            rows.append(row)
    if not rows:
        raise SheetError("There is no student in it: export the gradebook of the course again.")
    return CanvasExport(sheet, _chosen(sheet, first, points, column), tuple(rows), points, names)


def fill_canvas(export: CanvasExport, results: Sequence[Row], naming: Naming) -> Filled:
    """The export with the scores of ``results`` in its column; every other byte is as it was.

    ``naming`` says which part of a hand-in's name Canvas wrote as an id. Nobody's score is overwritten by a
    missing one.
    """
    sheet, names = export.sheet, export.name_columns
    header = sheet.texts(0)
    people_named = [_name(sheet, row, names) for row in export.rows]
    ids = [
        [sheet.text(row, place) for row in export.rows]
        for title in ("ID", "SIS User ID", "SIS Login ID")
        if (place := _index(header, title)) is not None
    ]
    whose = match(results, People(ids, people_named), naming)
    decimals = [place for place in range(names, len(header)) if _TITLE_AND_ID.fullmatch(header[place])]
    column = Column(sheet, export.column, export.rows, people_named, _NO_SCORE)
    done = column.fill(whose.results, decimal_of(sheet, decimals))
    without = [name for place, name in enumerate(people_named) if place not in whose.results]
    sentences = [
        f"{len(done)} of {len(export.rows)} students have a score in {header[export.column].strip()}.",
        *_other_maximum(export, results),
        *column.sentences(without),
        *whose.sentences,
    ]
    return Filled(sheet.replaced(column.texts), tuple(sentences))


def _read(content: bytes) -> tuple[Sheet, int]:
    """The sheet, and how many columns a name has."""
    for delimiter in (",", ";"):
        header = heading(content, delimiter)
        if len(header) > 3 and "Student" in header[0] and "ID" in header[1]:
            return read_sheet(content, delimiter), 1
        if len(header) > 4 and (header[0], header[1]) == ("LastName", "FirstName") and "ID" in header[2]:
            return read_sheet(content, delimiter), 2
    raise SheetError(
        'It does not begin with the columns of Canvas ("Student,ID,…,Section,…"): export it in Canvas under '
        "Grades, Export, and give that file."
    )


def _student_columns(header: Sequence[str], names: int) -> int:
    """How many columns are about the student. Canvas refuses a file in which the last is no Section."""
    place = names + 1
    if "SIS User ID" in header[place] and place + 1 < len(header) and "SIS Login ID" in header[place + 1]:
        place += 2
        for optional in ("Integration ID", "Root Account"):
            place += place < len(header) and optional in header[place]
    elif "SIS Login ID" in header[place]:
        place += 1
    if place >= len(header) or "Section" not in header[place]:
        raise SheetError(
            "The columns about the students are not those that Canvas exports, with Section at their end, so "
            "that Canvas would refuse the file: export it again, and take no column out."
        )
    return place + 1


def _chosen(sheet: Sheet, first: int, points: int | None, wanted: str | None) -> int:
    header = sheet.texts(0)
    places = [
        place
        for place in range(first, len(header))
        if header[place].strip()
        and not _TOTALS.search(header[place])
        and not (points is not None and _READ_ONLY.search(sheet.text(points, place)))
    ]
    with_id = [place for place in places if _TITLE_AND_ID.fullmatch(header[place])]
    there = listed([header[place].strip() for place in with_id]) or "none"
    if wanted is None:
        if len(with_id) == 1:
            return with_id[0]
        raise SheetError(
            f"It has {len(with_id)} columns of assignments ({there}): say which with --canvas-column, by its "
            "title or its id."
            if with_id
            else "It has no column of an assignment: make the assignment in Canvas, and export again."
        )
    fitting = _fitting(header, places, wanted.strip())
    if len(fitting) == 1:
        return fitting[0]
    how_many = "More than one column is" if fitting else "No column that may be filled is"
    raise SheetError(f"{how_many} called {wanted!r}. The assignments are: {there}.")


def _fitting(header: Sequence[str], places: Sequence[int], wanted: str) -> list[int]:
    """Those that ``wanted`` names, by the surest of its readings that names any."""
    with_id = {place: found for place in places if (found := _TITLE_AND_ID.fullmatch(header[place]))}
    return (
        [place for place in places if header[place].strip() == wanted]
        or [place for place, found in with_id.items() if found["id"] == wanted.strip("()")]
        or [place for place, found in with_id.items() if found["title"].casefold() == wanted.casefold()]
    )


def _index(header: Iterable[str], title: str) -> int | None:
    return next((place for place, text in enumerate(header) if text.strip() == title), None)


def _name(sheet: Sheet, row: int, columns: int) -> str:
    return ", ".join(text for place in range(columns) if (text := sheet.text(row, place)))


def _other_maximum(export: CanvasExport, results: Sequence[Row]) -> list[str]:
    if export.points_row is None:
        return []
    possible = number_in(export.sheet.text(export.points_row, export.column))
    maxima = sorted({result.max_score for result in results if result.is_graded})
    others = [one for one in maxima if possible is not None and abs(one - possible) >= 0.005]
    if not others or possible is None:
        return []
    return [
        f"Canvas has {number(possible)} points for it, and the rubric {', '.join(map(number, others))}: the "
        "points are written as they are, not scaled."
    ]
