"""The rows of the gradebook: what this run finished, what earlier runs left, and who is in the roster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader.batch import Finished
from grader.intake.attempts import HandIn
from grader.intake.errors import shown
from grader.report.audience import for_audience
from grader.report.gradebook import NOT_SUBMITTED, Row
from grader.report.tallies import codes_of
from grader.report.worst import worst_sentence
from grader.results import Refused, Results, Stored
from grader.roster import Roster, RosterError
from grader.rubric import Rubric

EARLIER = "Of an earlier run: this one was not given the hand-in."


class ClassRows:
    """Makes them, one for each student: of ``hand_ins``, then others in ``results``, then of the roster."""

    def __init__(
        self, hand_ins: Sequence[HandIn], results: Results, rubric: Rubric, roster: Roster | None
    ) -> None:
        self._hand_ins, self._results, self._rubric, self._roster = hand_ins, results, rubric, roster
        self._there: set[int] = set()
        self.not_submitted = 0
        self.not_in_roster: list[str] = []

    def all(self, done: Mapping[str, Finished]) -> Iterator[Row]:
        """``done`` has what this run finished. Results are read one after another, as they are asked for."""
        for hand_in in self._hand_ins:
            yield self._of_roster(self._row(hand_in, done.get(hand_in.student)))
        for stored in self._results.others({hand_in.student for hand_in in self._hand_ins}):
            yield self._of_roster(self._kept(stored, (EARLIER,)))
        for number, cells in enumerate(self._roster.rows if self._roster else ()):
            if number not in self._there:
                self.not_submitted += 1
                zeros = dict.fromkeys(self._rubric.worth, 0.0)
                yield Row(cells[0], NOT_SUBMITTED, 0, self._rubric.max_score, zeros, of_roster=cells)

    def _row(self, hand_in: HandIn, finished: Finished | None) -> Row:
        if finished is not None and not finished.kept:
            status = f"error: {finished.sentence}"
        elif finished is None:
            status = "not graded yet: run the same command again"
        elif (stored := self._results.load(hand_in.student)) is not None:
            return self._kept(stored)
        else:
            status = "error: its result cannot be read; run the same command again"
        # What is known of an earlier hand-in would be wrong here.
        return Row(
            hand_in.student, status, None, self._rubric.max_score, file=hand_in.file, notes=hand_in.notes
        )

    def _kept(self, stored: Stored, more: tuple[str, ...] = ()) -> Row:
        outcome = stored.outcome
        if isinstance(outcome, Refused):
            return Row(
                stored.student,
                f"nothing to grade: {outcome.sentence}",
                0,
                self._rubric.max_score,
                dict.fromkeys(self._rubric.worth, 0.0),
                stored.file,
                stored.basis.hand_in,
                stored.graded_at,
                (*outcome.notes, *more),
            )
        return Row(
            stored.student,
            outcome.status,
            outcome.score,
            outcome.max_score,
            {part.name: part.score for part in outcome.exercises if part.max_score},
            stored.file,
            outcome.submission.sha256,
            stored.graded_at,
            (*outcome.notes, *more),
            max_scores={part.name: part.max_score for part in outcome.exercises if part.max_score},
            worst=worst_sentence(for_audience(outcome, "student")),  # Moodle shows it to them
            exercises={part.name: part.status for part in outcome.exercises},
            codes=codes_of(outcome),
            report=self._results.page(stored.student),
        )

    def _of_roster(self, row: Row) -> Row:
        if self._roster is None:
            return row
        number = self._roster.row_of(row.student)
        if number is None or number in self._there:
            self.not_in_roster.append(row.student)
            return row
        self._there.add(number)
        return Row(**{**vars(row), "of_roster": self._roster.rows[number]})


def check_heading(roster: Roster, hand_ins: Sequence[HandIn]) -> None:
    """Raises `RosterError` where the first row, which should be a heading, is one of the students."""
    for hand_in in hand_ins:
        if hand_in.student.casefold() in {column.casefold() for column in roster.columns}:
            raise RosterError(
                f"The first row of the roster is {shown(hand_in.student)}, who handed in: it needs a heading "
                "above, such as id,name."
            )
