"""Grades mutants: the grader's own jobs, checks and cases, in sandboxes that are used again and again."""

from __future__ import annotations

import os
import queue
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.cases import cases_for, jobs_for, secret_of
from grader.course import find_course
from grader.exercises.assignment4 import LAB
from grader.exercises.contract import Case
from grader.grading import Grading
from grader.job import Limits
from grader.judge.baseline import Baseline
from grader.judge.given import Given
from grader.judge.hard_coded import name_hard_coded
from grader.rubric import load_rubric
from grader.run import sandbox
from grader.run.session import Session
from grader.timings import Timings
from tests.mutants.make import Mutant, make_mutants

COURSE = find_course(Path(__file__).parent)
REFERENCE = COURSE.reference_dir / LAB.file

MASTER_SEED = 20
_SECONDS = 10.0  # of one job: a deadlock is found sooner, and no mutant computes for long
_AT_ONCE = 3  # jobs of one mutant


def reference_mutants() -> tuple[Mutant, ...]:
    """All mutants of the reference solution."""
    return make_mutants(REFERENCE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Graded:
    """What the grader says of a mutant. ``lost`` names the exercises that lost marks, ``codes`` are the
    findings' that it got, ``errors`` what the grader could not carry out."""

    mutant: Mutant
    lost: tuple[str, ...]
    codes: tuple[str, ...]
    errors: tuple[str, ...] = ()


class Bench:
    """Sandboxes, one for each mutant that is graded at the same time. Use as a context manager.

    The baselines are computed once for all mutants: they depend on the cases alone.
    """

    def __init__(self, workers: int = (os.cpu_count() or 2) + 1) -> None:
        self._rubric = load_rubric(COURSE.rubric_path)
        self._given = Given(LAB, secret_of(MASTER_SEED))
        self._baseline = Baseline(LAB, REFERENCE, COURSE.staff_utils, self._given)
        self._workers = workers
        self._stack = ExitStack()
        self._free: queue.SimpleQueue[_Stall] = queue.SimpleQueue()

    def __enter__(self) -> Bench:
        limits = self._rubric.limits.model_copy(update={"seconds": _SECONDS}).for_job()
        for _ in range(self._workers):
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
            stall = _Stall(folder, limits)
            self._stack.callback(stall.close)
            self._free.put(stall)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def grade(self, mutants: Iterable[Mutant]) -> Iterator[Graded]:
        """Grade all, some at a time; they come back in their own order."""
        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(self._grade, mutants)

    def _grade(self, mutant: Mutant) -> Graded:
        with self._stall() as stall:
            graded = self._ask(mutant, stall)
            if graded.errors:
                stall.renew()
                graded = self._ask(mutant, stall)
        return graded

    @contextmanager
    def _stall(self) -> Iterator[_Stall]:
        stall = self._free.get()
        try:
            yield stall
        finally:
            self._free.put(stall)

    def _ask(self, mutant: Mutant, stall: _Stall) -> Graded:
        """The handout's own case first: most mutants fail it, and are done with. The others are asked all."""
        stall.stage(mutant.source)
        cases = [
            case for name in mutant.exercises for case in cases_for(self._rubric, LAB, LAB[name], MASTER_SEED)
        ]
        first = [case for case in cases if case.check == "baseline"]
        graded = self._grade_cases(mutant, stall, first)
        if graded.lost or graded.errors:
            return graded
        return self._grade_cases(mutant, stall, [case for case in cases if case not in first])

    def _grade_cases(self, mutant: Mutant, stall: _Stall, cases: Sequence[Case]) -> Graded:
        jobs = sorted(jobs_for(cases), key=lambda job: -job.world_size)
        grading = Grading(stall.session, LAB, self._baseline, self._given, self._rubric.tolerance, Timings())
        verdicts = name_hard_coded(grading.grade(jobs, _AT_ONCE))
        failed = [verdict for verdict in verdicts if verdict.status == "failed"]
        costly = {verdict.case.exercise for verdict in failed if self._worth(verdict.case)}
        return Graded(
            mutant,
            lost=tuple(name for name in mutant.exercises if name in costly),
            codes=tuple(sorted({found.code for verdict in failed for found in verdict.findings})),
            errors=tuple(verdict.detail for verdict in verdicts if verdict.status == "error"),
        )

    def _worth(self, case: Case) -> float:
        points: Mapping[str, float] = self._rubric.exercises[case.exercise].points
        return points[case.check]


class _Stall:
    """A sandbox with a place for one file, which changes from mutant to mutant."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._file = folder / "submission" / LAB.file
        self._file.parent.mkdir()
        self._limits = limits
        self._place = sandbox.bubblewrap(folder, COURSE.staff_utils)
        self.session = self._started()

    def _started(self) -> Session:
        return Session(self._place, LAB.name, self._limits)

    def stage(self, source: str) -> None:
        """Put a file in the place of the last one; ranks forked from now on find it."""
        self._file.write_text(source, encoding="utf-8")
        self._file.chmod(0o644)

    def renew(self) -> None:
        """Start over with a new sandbox."""
        self.session.close()
        self.session = self._started()

    def close(self) -> None:
        self.session.close()
