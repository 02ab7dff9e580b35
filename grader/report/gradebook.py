"""``gradebook.csv``: a row for each student, a column for each exercise."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_INNER = re.compile(r"([;|,\t\r\n]\s*)(?=[=+\-@＝＋－＠])")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # also the wide forms of East Asian keyboards
NOT_SUBMITTED = "not submitted"  # the status of who is in the roster and handed nothing in


@dataclass(frozen=True)
class Row:
    """One student. ``scores`` are by exercise; one that is not there was not graded, which is no zero, and
    neither is a ``score`` of None. ``worst`` is the sentence of the finding that most of the checks have.

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
    max_scores: Mapping[str, float] = field(default_factory=dict)
    worst: str = ""
    exercises: Mapping[str, str] = field(default_factory=dict)
    codes: frozenset[tuple[str, str]] = frozenset()
    report: str = ""

    @property
    def is_graded(self) -> bool:
        """Whether the score is one: the grader did its work, and there was something to grade."""
        return self.status in ("passed", "failed") and self.score is not None


def gradebook(rows: Iterable[Row], exercises: Sequence[str], roster_columns: Sequence[str] = ()) -> str:
    """The gradebook as CSV text with a heading. ``roster_columns`` come first, as the rows' ``of_roster``.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text)  # lines end as RFC 4180 has it
    kept = ("student", "status", "score", "max_score", *exercises, "file", "sha256", "graded_at", "notes")
    writer.writerow([*map(inert, roster_columns), *kept])
    for row in rows:
        scores = [number(row.scores[name]) if name in row.scores else "" for name in exercises]
        texts = [inert(cell) for cell in (*row.of_roster, *[""] * (len(roster_columns) - len(row.of_roster)))]
        writer.writerow(
            [
                *texts,
                inert(row.student),
                inert(row.status),
                "" if row.score is None else number(row.score),
                number(row.max_score),
                *scores,
                inert(row.file),
                row.sha256,
                row.graded_at,
                inert(" ".join(row.notes)),
            ]
        )
    return text.getvalue()


def inert(text: str) -> str:
    """``text`` with an apostrophe in front where a spreadsheet would take it for a formula: also behind what
    some take for the end of a cell."""
    text = _INNER.sub(r"\1'", text)
    begins_oddly = text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if begins_oddly else text


def number(value: float) -> str:
    """Points as people write them: at most six decimals, and no zeros behind them."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
