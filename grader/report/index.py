"""``index.html``: a class at a glance, with a link to each student's page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from grader.report.gradebook import Row
from grader.report.pages import page
from grader.report.pictures.distribution import distribution
from grader.report.tallies import commonest, graded, pass_rates, tenths

_COMMONEST = 8
#: By how a row's status begins: the words for it, in the order in which they are offered.
STANDINGS = {
    "passed": "full marks",
    "failed": "marks lost",
    "nothing to grade": "nothing to grade",
    "not submitted": "not submitted",
    "not graded yet": "not graded yet",
    "error": "grader failed",
}


@dataclass(frozen=True)
class StudentLine:
    """A row of the table. ``found`` are the codes of the findings; ``sought`` is what the filter looks in."""

    row: Row
    standing: str
    sentence: str
    link: str
    found: tuple[str, ...]
    sought: str


def render_index(rows: Iterable[Row], exercises: Sequence[str], title: str = "Class") -> str:
    """The page of a class: scores, pass rates, commonest findings and a table of all students, in the order
    of ``rows``, that can be sorted and filtered. ``exercises`` are the names of its columns."""
    rows = list(rows)
    lines = [_line(row) for row in rows]
    those = graded(rows)
    standings = {line.standing for line in lines}
    return page(
        "index",
        title=title,
        lines=lines,
        exercises=exercises,
        standings=[word for word in STANDINGS.values() if word in standings],
        counts={word: sum(line.standing == word for line in lines) for word in STANDINGS.values()},
        distribution=distribution(tenths(those)) if those else None,
        rates=pass_rates(those),
        commonest=commonest(those, _COMMONEST),
    )


def _line(row: Row) -> StudentLine:
    begins = next((begin for begin in STANDINGS if row.status.startswith(begin)), "error")
    sentence = row.status.removeprefix(begins).removeprefix(": ")
    found = tuple(sorted({code for _, code in row.codes}))
    sought = " ".join((row.student, *row.of_roster, row.file, sentence, *found)).lower()
    return StudentLine(row, STANDINGS[begins], sentence, _link(row.report), found, sought)


def _link(path: str) -> str:
    """A relative one, whatever characters the name has: ``./`` keeps it from being a host or a scheme."""
    return f"./{quote(path, errors='surrogatepass')}" if path else ""
