"""``gradebook.csv``: a row for each student, a column for each exercise."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # also the wide forms of East Asian keyboards


@dataclass(frozen=True)
class Row:
    """One student. ``scores`` are by exercise; one that is not there was not graded, which is no zero, and
    neither is a ``score`` of None.

    The class's page has more of it: ``exercises`` are the exercises' statuses, ``codes`` the findings as
    exercise and code, ``report`` the path from there to the student's own page (none: empty).
    """

    student: str
    status: str
    score: float | None
    max_score: float
    scores: Mapping[str, float] = field(default_factory=dict)
    file: str = ""
    sha256: str = ""
    graded_at: str = ""
    notes: Sequence[str] = ()
    of_roster: Sequence[str] = ()
    exercises: Mapping[str, str] = field(default_factory=dict)
    codes: frozenset[tuple[str, str]] = frozenset()
    report: str = ""


def gradebook(rows: Iterable[Row], exercises: Sequence[str], roster_columns: Sequence[str] = ()) -> str:
    """The gradebook as CSV text with a heading. ``roster_columns`` come first, as the rows' ``of_roster``.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text)  # lines end as RFC 4180 has it
    kept = ("student", "status", "score", "max_score", *exercises, "file", "sha256", "graded_at", "notes")
    writer.writerow([*map(_inert, roster_columns), *kept])
    for row in rows:
        scores = [_number(row.scores[name]) if name in row.scores else "" for name in exercises]
        texts = [
            _inert(cell) for cell in (*row.of_roster, *[""] * (len(roster_columns) - len(row.of_roster)))
        ]
        writer.writerow(
            [
                *texts,
                _inert(row.student),
                _inert(row.status),
                "" if row.score is None else _number(row.score),
                _number(row.max_score),
                *scores,
                _inert(row.file),
                row.sha256,
                row.graded_at,
                _inert(" ".join(row.notes)),
            ]
        )
    return text.getvalue()


def _inert(text: str) -> str:
    begins_oddly = text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if begins_oddly else text


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
