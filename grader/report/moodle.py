"""Moodle's offline grading worksheet, with grades and feedback filled in.

What Moodle takes in again follows its ``mod/assign/feedback/offline``; see the project's facts, section 2.5.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.intake.naming import Naming
from grader.judge.text import clean_line
from grader.report.filled import Column, Filled, decimal_of
from grader.report.gradebook import Row, inert, number
from grader.report.sheet import Sheet, SheetError, heading, number_in, read_sheet
from grader.report.whose import People, listed, match

_NEEDED = ("Identifier", "Grade", "Last modified (grade)")  # without one of these Moodle refuses the file
_UNIQUE = ("Email address", "ID number", "Username")
_OURS = "Automatic grading:"  # how feedback begins that may be replaced by newer
_LONGEST = 1500


@dataclass(frozen=True)
class Worksheet:
    """A worksheet as Moodle exported it; ``columns`` are places by title, in lower case."""

    sheet: Sheet
    columns: Mapping[str, int]

    def column(self, title: str) -> list[str] | None:
        """A column's texts without its heading; None where the worksheet lacks it."""
        place = self.columns.get(title.casefold())
        if place is None:
            return None
        return [self.sheet.text(row, place) for row in range(1, len(self.sheet.rows))]


def read_moodle(content: bytes) -> Worksheet:
    """The worksheet. Raises `SheetError` where Moodle would not take it in, or it has no points to give."""
    sheet, columns, missing = _read(content)
    if missing:
        raise SheetError(
            f"It has no column {listed(missing)}, as Moodle's offline grading worksheet has: download that "
            "from the assignment (Grading, Download grading worksheet), with Moodle set to English."
        )
    worksheet = Worksheet(sheet, columns)
    if len(sheet.rows) < 2:
        raise SheetError("There is no student in it: download the worksheet again.")
    maxima = [number_in(text) for text in worksheet.column("Maximum Grade") or ()]
    if maxima and all(most is not None and most < 0 for most in maxima):
        raise SheetError(
            "The assignment is graded by a scale: set it to points in Moodle, and download again."
        )
    return worksheet


def fill_moodle(worksheet: Worksheet, results: Sequence[Row], naming: Naming) -> Filled:
    """The worksheet with the grades of ``results`` and a short text for each; every other byte is as it was.

    ``naming`` says which part of a hand-in's name is the id of a participant. Nobody's grade is overwritten
    by a missing one, and no feedback that a person wrote is overwritten.
    """
    sheet = worksheet.sheet
    participants = [_digits(text) for text in worksheet.column("Identifier") or ()]
    others = [texts for title in _UNIQUE if (texts := worksheet.column(title)) is not None]
    names = worksheet.column("Full name") or [""] * len(participants)
    whose = match(results, People([participants, *others], names), naming)
    called = [name or f"participant {one}" for name, one in zip(names, participants, strict=True)]
    locked = {
        place for place, may in enumerate(worksheet.column("Grade can be changed") or ()) if may == "No"
    }
    open_ = {place: result for place, result in whose.results.items() if place not in locked}

    grade = worksheet.columns["grade"]
    column = Column(sheet, grade, range(1, len(sheet.rows)), called)
    done = column.fill(open_, decimal_of(sheet, [worksheet.columns.get("maximum grade", grade), grade]))
    kept = _feedback(worksheet, column, {place: open_[place] for place in done})
    sentences = [
        f"{len(done)} of {len(participants)} students have a grade.",
        *_other_maxima(worksheet, open_, called),
        *column.sentences([name for place, name in enumerate(called) if place not in whose.results]),
        *_told(
            "Left as they were, because Moodle has locked their grade", called, locked & set(whose.results)
        ),
        *_told("Feedback that somebody wrote is kept", called, kept),
        *whose.sentences,
    ]
    return Filled(sheet.replaced(column.texts), tuple(sentences))


def feedback(result: Row) -> str:
    """What a student is told, in one line: the score, that of each exercise, and what is wrong most often.

    Moodle shows feedback as HTML, so what a finding quotes ("a < b") is escaped.
    """
    parts = [
        f"{name} {number(result.scores[name])}/{number(most)}"
        for name, most in result.max_scores.items()
        if name in result.scores
    ]
    text = f"{_OURS} {number(result.score or 0)} of {number(result.max_score)} points."
    text += f" {'; '.join(parts)}." if parts else ""
    text += f" Seen most often: {result.worst}" if result.worst else ""
    return inert(html.escape(clean_line(text, _LONGEST), quote=False))


def _read(content: bytes) -> tuple[Sheet, dict[str, int], list[str]]:
    """The sheet as cut by the delimiter that suits it best, its columns, and those that it lacks."""

    def columns(delimiter: str) -> dict[str, int]:
        titles = heading(content, delimiter)
        # From the right, so that of two columns with one title the first counts.
        return {titles[place].strip().casefold(): place for place in reversed(range(len(titles)))}

    def missing(delimiter: str) -> list[str]:
        return [title for title in _NEEDED if title.casefold() not in columns(delimiter)]

    best = min((",", ";", "\t"), key=lambda delimiter: len(missing(delimiter)))
    return read_sheet(content, best), columns(best), missing(best)


def _digits(identifier: str) -> str:
    """ "Participant 123" is 123, in whatever language."""
    found = re.search(r"(\d+)\s*$", identifier)
    return found[1] if found else ""


def _feedback(worksheet: Worksheet, column: Column, results: Mapping[int, Row]) -> set[int]:
    """Add the feedback of these; the places of those where somebody's own stands."""
    sheet, comments = worksheet.sheet, worksheet.columns.get("feedback comments")
    if comments is None:
        return set()
    kept = set[int]()
    for place, result in results.items():
        row = column.rows[place]
        old, new = sheet.text(row, comments), feedback(result)
        if old and _OURS not in old[: len(_OURS) + 10]:  # Moodle may have put ours into a paragraph
            kept.add(place)
        elif old != new and comments < len(sheet.rows[row]):
            column.texts[row, comments] = new
    return kept


def _other_maxima(worksheet: Worksheet, results: Mapping[int, Row], called: Sequence[str]) -> list[str]:
    maxima = [number_in(text) for text in worksheet.column("Maximum Grade") or ()]
    pairs = {
        (most, results[place].max_score)
        for place, most in enumerate(maxima)
        if most is not None and place in results and results[place].is_graded
    }
    sentences = [
        f"Moodle gives {number(most)} points for it, and the rubric {number(ours)}: the points are written "
        "as they are, not scaled."
        for most, ours in sorted(pairs)
        if abs(most - ours) >= 0.005
    ]
    above = {
        place
        for place, most in enumerate(maxima)
        if most is not None and place in results and results[place].is_graded
        and (results[place].score or 0) > most
    }  # fmt: skip
    return [*sentences, *_told("Above Moodle's maximum, so that Moodle will leave them out", called, above)]


def _told(why: str, called: Sequence[str], places: set[int]) -> list[str]:
    return [f"{why}: {listed([called[place] for place in sorted(places)])}."] if places else []
