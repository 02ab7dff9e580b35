"""Grades a class: many hand-ins, some at a time, each result kept as soon as it is there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, Protocol

import psutil  # memory of the machine, on Linux and macOS alike

from grader.intake import IntakeError
from grader.intake.hand_ins import HandIn
from grader.report.rescore import merged, rescored
from grader.report.schema import Report
from grader.results import Basis, Refused, Results, Stored, hash_of_hand_in
from grader.run.sandbox import SandboxError

How = Literal["graded", "kept", "re-scored"]

_MEMORY_OF_ONE = 2 << 30  # bytes: what a right submission's ranks and files take, with room to spare


class OneGrader(Protocol):
    """What grades one hand-in: a `grader.check.Grader` with its options."""

    def __call__(self, hand_in: HandIn, only: tuple[str, ...]) -> Report: ...


@dataclass(frozen=True)
class Finished:
    """One student's result in a few words; the whole is in the results folder."""

    student: str
    how: How
    status: str
    score: float
    max_score: float
    seconds: float = 0.0
    sentence: str = ""
    exercises: Mapping[str, str] = field(default_factory=dict)
    codes: frozenset[tuple[str, str]] = frozenset()


def bearable() -> int:
    """How many submissions this machine bears at once: one for each core and one more, because a deadlock
    is waited for without one, and 2 GiB of memory for each."""
    memory = psutil.virtual_memory().available // _MEMORY_OF_ONE
    return int(max(1, min((os.cpu_count() or 1) + 1, memory)))


class ClassRun:
    """One run over a class. ``asked`` are the hashes of what each exercise is asked, ``points`` the rubric's
    points by exercise and check with ``points_hash``; ``force`` grades again what is there already."""

    def __init__(
        self,
        grade: OneGrader,
        results: Results,
        asked: Mapping[str, str],
        points: Mapping[str, Mapping[str, float]],
        points_hash: str,
        force: bool = False,
    ) -> None:
        self._grade, self._results = grade, results
        self._asked, self._points, self._points_hash = dict(asked), points, points_hash
        self._force = force
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
            found: dict[str, Finished] = {}
            try:
                for future in as_completed(futures):
                    found[futures[future]] = future.result()
                    finished(future.result())
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [found[hand_in.student] for hand_in in hand_ins]

    def _one(self, hand_in: HandIn) -> Finished:
        begun = time.monotonic()
        try:
            basis = Basis(hash_of_hand_in(hand_in.path), self._asked, self._points_hash)
            how, stored = self._result(hand_in, basis)
        except SandboxError:  # no other submission could be graded either
            raise
        except Exception as error:  # a fault of ours, on this one
            sentence = f"The grader failed on {hand_in.file}: {error!r}. Nothing was kept; run it again."
            return Finished(hand_in.student, "graded", "error", 0, 0, sentence=sentence)
        return _in_short(stored, how, time.monotonic() - begun, self._worth())

    def _result(self, hand_in: HandIn, basis: Basis) -> tuple[How, Stored]:
        stored = None if self._force else self._results.load(hand_in.student)
        if stored is None or stored.basis.hand_in != basis.hand_in or _failed(stored):
            return "graded", self._graded(hand_in, basis, ())
        stale = tuple(name for name, asked in basis.asked.items() if stored.basis.asked.get(name) != asked)
        gone = stored.basis.asked.keys() - basis.asked.keys()
        if isinstance(stored.outcome, Refused) or gone:
            return ("graded", self._graded(hand_in, basis, ())) if stale or gone else ("kept", stored)
        if stale:
            return "graded", self._graded(hand_in, basis, stale, stored.outcome)
        if stored.basis.points == basis.points:
            return "kept", stored
        report = rescored(stored.outcome, self._points)
        return "re-scored", self._kept(replace(stored, basis=basis, outcome=report))

    def _graded(
        self, hand_in: HandIn, basis: Basis, only: tuple[str, ...], before: Report | None = None
    ) -> Stored:
        outcome: Report | Refused
        try:
            outcome = self._grade(hand_in, only)
            if before is not None:
                outcome = rescored(merged(before, outcome), self._points)
            outcome = outcome.model_copy(update={"notes": (*hand_in.notes, *outcome.notes)})
        except IntakeError as error:
            outcome = Refused(str(error))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return self._kept(Stored(hand_in.student, hand_in.file, basis, outcome, now))

    def _kept(self, stored: Stored) -> Stored:
        if not self._stopped.is_set():  # the sandbox may have been closed under it
            self._results.save(stored)
        return stored

    def _worth(self) -> float:
        return sum(sum(checks.values()) for checks in self._points.values())


def stored_results(results: Results, students: Iterable[str]) -> Iterator[Stored]:
    """What is kept of these students, one after another."""
    for student in students:
        if (stored := results.load(student)) is not None:
            yield stored


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
        codes=frozenset((part.name, found.code) for part in report.exercises for found in part.findings),
    )
