"""Grades a class: many hand-ins, some at a time, each result kept as soon as it is there."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, Protocol

import psutil  # memory of the machine, on Linux and macOS alike

from grader.intake import IntakeError
from grader.intake.attempts import HandIn
from grader.intake.errors import shown
from grader.intake.folder_source import unreadable
from grader.report.rescore import merged, rescored
from grader.report.schema import Report
from grader.report.tallies import codes_of
from grader.results import Basis, Refused, Results, Stored, hash_of_hand_in
from grader.run.sandbox import SandboxError

How = Literal["graded", "kept", "re-scored"]

_MEMORY_OF_ONE = 2 << 30  # bytes: what a right submission's ranks and files take, with room to spare


class OneGrader(Protocol):
    """What grades one hand-in: a `grader.check.Grader` with its options."""

    def __call__(self, hand_in: HandIn, only: tuple[str, ...]) -> Report: ...


@dataclass(frozen=True)
class Finished:
    """One student's result in a few words; the whole is in the results folder, if it is ``kept``."""

    student: str
    how: How
    status: str
    score: float
    max_score: float
    seconds: float = 0.0
    sentence: str = ""
    exercises: Mapping[str, str] = field(default_factory=dict)
    codes: frozenset[tuple[str, str]] = frozenset()
    notes: tuple[str, ...] = ()
    kept: bool = True


def bearable() -> int:
    """How many submissions this machine bears at once: one for each core and one more, because a deadlock
    is waited for without one, and 2 GiB of memory for each."""
    memory = psutil.virtual_memory().available // _MEMORY_OF_ONE
    return int(max(1, min((os.cpu_count() or 1) + 1, memory)))


class ClassRun:
    """One run over a class. ``asked`` are the hashes of what each exercise is asked, ``points`` the rubric's
    points by exercise and check with ``points_hash``; ``force`` grades again what is there already.
    ``give_up`` is called when the run ends before its time: whatever is being graded is to end soon.
    ``beside`` is called with each result when it is kept, also when it was kept by an earlier run.
    ``done`` has what is finished, by student."""

    def __init__(
        self,
        grade: OneGrader,
        results: Results,
        asked: Mapping[str, str],
        points: Mapping[str, Mapping[str, float]],
        points_hash: str,
        force: bool = False,
        give_up: Callable[[], None] = lambda: None,
        beside: Callable[[Stored], None] = lambda stored: None,
    ) -> None:
        self._grade, self._results = grade, results
        self._asked, self._points, self._points_hash = dict(asked), points, points_hash
        self._force, self._give_up, self._beside = force, give_up, beside
        self.done: dict[str, Finished] = {}
        self._stopped = threading.Event()

    def run(
        self, hand_ins: Sequence[HandIn], at_once: int, finished: Callable[[Finished], None]
    ) -> list[Finished]:
        """Grade all, ``at_once`` at a time, and return them in order; ``finished`` hears of each when done.

        One that fails stops none of the others. KeyboardInterrupt ends the run: what is not finished then is
        not kept.
        """
        with ThreadPoolExecutor(at_once) as pool:
            futures = {pool.submit(self._one, hand_in): hand_in.student for hand_in in hand_ins}
            try:
                for future in as_completed(futures):
                    self.done[futures[future]] = future.result()
                    finished(future.result())
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                self._give_up()
                raise
        return [self.done[hand_in.student] for hand_in in hand_ins]

    def _one(self, hand_in: HandIn) -> Finished:
        begun = time.monotonic()
        try:
            hand_in, content = _read(hand_in)
            how, stored = self._result(hand_in, Basis(content, self._asked, self._points_hash))
        except SandboxError:  # no other submission could be graded either
            raise
        except (Exception, SystemExit) as error:  # a fault of ours, on this one
            sentence = f"The grader failed on {shown(hand_in.file)}: {error!r}. Nothing was kept."
            return Finished(hand_in.student, "graded", "error", 0, 0, sentence=sentence, kept=False)
        in_short = _in_short(stored, how, time.monotonic() - begun, self._worth())
        notes = (*hand_in.notes, *self._shown(stored))
        return replace(self._with_beside(stored, in_short), notes=notes)

    def _shown(self, stored: Stored) -> tuple[str, ...]:
        """Makes the student's page. No result is lost for the want of it."""
        try:
            if not self._stopped.is_set():
                self._results.show(stored)
        except Exception as error:  # a fault of ours
            return (f"Its report.html could not be made: {error!r}.",)
        return ()

    def _with_beside(self, stored: Stored, in_short: Finished) -> Finished:
        if self._stopped.is_set():
            return in_short
        try:
            self._beside(stored)
        except Exception as error:  # a fault of ours, on this one; the result itself is kept
            sentence = f"The result is kept, but what is made from it could not be written: {error!r}."
            return replace(in_short, status="error", sentence=sentence)
        return in_short

    def _result(self, hand_in: HandIn, basis: Basis) -> tuple[How, Stored]:
        stored = None if self._force else self._results.load(hand_in.student)
        if stored is None or stored.basis.hand_in != basis.hand_in or _failed(stored):
            return "graded", self._graded(hand_in, basis)
        stale = tuple(name for name, asked in basis.asked.items() if stored.basis.asked.get(name) != asked)
        if isinstance(stored.outcome, Refused):
            return ("graded", self._graded(hand_in, basis)) if stale else ("kept", stored)
        if stored.basis.asked.keys() != basis.asked.keys() or len(stale) == len(basis.asked):
            return "graded", self._graded(hand_in, basis)
        try:
            if stale:
                return "graded", self._graded(hand_in, basis, stale, stored.outcome)
            if stored.basis.points == basis.points:
                return "kept", stored
            report = rescored(stored.outcome, self._points)
        except LookupError:  # the verdicts that are there are not those of this rubric
            return "graded", self._graded(hand_in, basis)
        return "re-scored", self._kept(replace(stored, basis=basis, outcome=report))

    def _graded(
        self, hand_in: HandIn, basis: Basis, only: tuple[str, ...] = (), before: Report | None = None
    ) -> Stored:
        outcome: Report | Refused = Refused(hand_in.refused, hand_in.notes)
        try:
            if not hand_in.refused:
                report = self._grade(hand_in, only)
                if before is not None:
                    report = rescored(merged(before, report), self._points)
                outcome = report.model_copy(update={"notes": (*hand_in.notes, *report.notes)})
        except IntakeError as error:
            outcome = Refused(str(error), hand_in.notes)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return self._kept(Stored(hand_in.student, hand_in.file, basis, outcome, now))

    def _kept(self, stored: Stored) -> Stored:
        if not self._stopped.is_set():  # the sandbox may have been closed under it
            self._results.save(stored)
        return stored

    def _worth(self) -> float:
        return sum(sum(checks.values()) for checks in self._points.values())


def _read(hand_in: HandIn) -> tuple[HandIn, str]:
    """The hand-in, refused when it cannot be read, and a hash of its content."""
    if not hand_in.refused:
        try:
            return hand_in, hash_of_hand_in(hand_in.path)
        except OSError as error:
            hand_in = replace(hand_in, refused=str(unreadable(hand_in.path, error)))
    return hand_in, hashlib.sha256(hand_in.refused.encode("utf-8", "backslashreplace")).hexdigest()


def _failed(stored: Stored) -> bool:
    """The grader's own failure is no result to keep."""
    return isinstance(stored.outcome, Report) and stored.outcome.status == "error"


def _in_short(stored: Stored, how: How, seconds: float, worth: float) -> Finished:
    if isinstance(stored.outcome, Refused):
        return Finished(stored.student, how, "refused", 0, worth, seconds, stored.outcome.sentence)
    report = stored.outcome
    return Finished(
        stored.student,
        how,
        report.status,
        report.score,
        report.max_score,
        seconds,
        exercises={part.name: part.status for part in report.exercises},
        codes=codes_of(report),
    )
