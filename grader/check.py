"""Grades submissions, from the file handed in to the report."""

from __future__ import annotations

import importlib
import os
import platform
import secrets
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import grader
from grader import lazy_compiler
from grader.course import Course
from grader.intake import Submission, take_in
from grader.job import Job
from grader.report.build import RunFacts, build_report
from grader.report.schema import Report
from grader.rubric import Rubric
from grader.run import sandbox
from grader.run.session import Session
from grader.timings import Timings

if TYPE_CHECKING:
    from grader.exercises.contract import Lab
    from grader.judge.baseline import Baseline
    from grader.judge.given import Given

# A job waits about as long (for its rendezvous, for its peers) as it computes.
_JOBS_AT_ONCE = 2 * max(2, os.cpu_count() or 2)


class UsageError(ValueError):
    """What was asked cannot be done. The message says why and what to do."""


@dataclass(frozen=True)
class Options:
    """How to grade. ``only`` names the exercises to ask (none: all); ``seed`` is the master seed."""

    seed: int
    only: tuple[str, ...] = ()
    device: str = "auto"
    sandbox: str = "bwrap"
    launcher: str = "fork"


@dataclass(frozen=True)
class Progress:
    """Called as the work goes on: ``planned`` with the number of cases, ``settled`` after each job."""

    planned: Callable[[int], None] = lambda cases: None
    settled: Callable[[Job, int], None] = lambda job, cases: None


@dataclass
class Graded:
    """A report, and where its time went."""

    report: Report
    timings: Timings = field(repr=False)


def check(path: Path, course: Course, rubric: Rubric, options: Options, progress: Progress) -> Graded:
    """Grade the submission at ``path``.

    Raises `grader.intake.IntakeError` when there is nothing to grade in it, `UsageError`,
    `grader.rubric_errors.RubricError`, and `grader.run.sandbox.SandboxError` when it cannot be run here.
    """
    with Grader(course, rubric, options) as grader:
        return grader.grade(path, progress)


class Grader:
    """Grades submissions, one or many: the sandbox and all that is trusted are made for the first of them
    and serve the others. Use as a context manager; `grade` may be called from several threads."""

    def __init__(self, course: Course, rubric: Rubric, options: Options, jobs_at_once: int = _JOBS_AT_ONCE):
        self._course, self._rubric, self._options = course, rubric, options
        self._jobs_at_once = jobs_at_once
        self._contexts = ExitStack()
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._trusted: _Trusted | None = None

    def __enter__(self) -> Grader:
        folder = tempfile.TemporaryDirectory(prefix="grader-")
        self._staging = Path(self._contexts.enter_context(folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._contexts.close()

    def grade(
        self, path: Path, progress: Progress = Progress(), only: tuple[str, ...] | None = None
    ) -> Graded:
        """Grade the submission at ``path``; ``only`` takes the place of the options'. Raises what `check`
        raises."""
        session = self._session
        graded = self._graded(path, progress, self._options.only if only is None else only)
        if graded.report.status == "error" and session is not None and not session.is_alive():
            self._start_anew(session)
            graded = self._graded(path, progress, self._options.only if only is None else only)
        return graded

    def _start_anew(self, dead: Session) -> None:
        """A sandbox that served others before may have been killed, for want of memory for instance."""
        with self._lock:
            if self._session is dead:
                dead.close()
                self._session = None

    def _graded(self, path: Path, progress: Progress, only: tuple[str, ...]) -> Graded:
        begun = time.monotonic()
        staging = self._staging / secrets.token_hex(8)
        try:
            submission = take_in(path, staging, (f"{self._rubric.lab}.py",), self._rubric.intake.for_intake())
            took_in = time.monotonic()
            timings = Timings(begun)
            timings.spans.append(("intake", 0.0, took_in - begun))
            return self._grade(path, submission, staging.name, progress, timings, only)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _grade(
        self,
        path: Path,
        submission: Submission,
        staged: str,
        progress: Progress,
        timings: Timings,
        only: tuple[str, ...],
    ) -> Graded:
        with self._lock:
            session, trusted = self._prepare(timings)
        rubric, options = self._rubric, self._options
        asked = _asked(only, trusted.lab)
        jobs = [
            replace(job, submission=staged, cases=cases)
            for job in trusted.jobs
            if (cases := tuple(case for case in job.cases if case.exercise in asked))
        ]
        progress.planned(sum(len(job.cases) for job in jobs))
        from grader.grading import Grading

        grading = Grading(
            session,
            trusted.lab,
            trusted.baseline,
            trusted.given,
            rubric.tolerance,
            timings,
            rubric.limits.submission_seconds,
            progress.settled,
        )
        verdicts = grading.grade(jobs, self._jobs_at_once)
        facts = RunFacts(
            seed=options.seed,
            command=replay_command(path, replace(options, only=only)),
            sandbox=options.sandbox,
            launcher=options.launcher,
            device=trusted.device,
            seconds=time.monotonic() - timings.started,
            machine=trusted.machine,
            notes=_notes(submission, options),
        )
        report = build_report(submission, rubric, trusted.lab, verdicts, facts, only=only or None)
        return Graded(report, timings)

    def _prepare(self, timings: Timings) -> tuple[Session, _Trusted]:
        if self._session is None:
            place = {"bwrap": sandbox.bubblewrap, "none": sandbox.in_the_open}[self._options.sandbox]
            # The agent imports torch while this process does.
            self._session = self._contexts.enter_context(
                Session(
                    place(self._staging, self._course.staff_utils),
                    self._rubric.lab,
                    self._rubric.limits.for_job(),
                    self._options.launcher,
                )
            )
        if self._trusted is None:
            begun = time.monotonic()
            self._trusted = _trusted(self._course, self._rubric, self._options)
            timings.add("import torch (grader)", begun)
            begun = time.monotonic()
            timings.spans.append(("import torch (sandbox)", 0.0, self._session.import_seconds()))
            timings.add("wait for the sandbox", begun)
        return self._session, self._trusted


@dataclass(frozen=True)
class _Trusted:
    """What every submission is asked, and what is expected of it."""

    lab: Lab
    device: str
    jobs: Sequence[Job]
    given: Given
    baseline: Baseline
    machine: Mapping[str, str | int | float | bool | None]


def _trusted(course: Course, rubric: Rubric, options: Options) -> _Trusted:
    # torch comes with these: not before the sandbox has started.
    from grader.judge.baseline import Baseline
    from grader.judge.given import Given

    lab: Lab = importlib.import_module(f"grader.exercises.{rubric.lab}").LAB
    lazy_compiler.postpone()
    given = Given(lab, options.seed)
    return _Trusted(
        lab,
        _device(options.device),
        _jobs(course, rubric, lab, options),
        given,
        Baseline(lab, course.reference_dir / lab.file, course.staff_utils, given),
        _machine(),
    )


def _jobs(course: Course, rubric: Rubric, lab: Lab, options: Options) -> list[Job]:
    """What is to be run, the largest first, so that none of those is left over at the end."""
    from grader.cases import cases_for, jobs_for
    from grader.rubric_check import check_rubric

    check_rubric(rubric, lab, course.rubric_path)
    # A whole file may well take the process group down when it is done: nothing comes after it.
    exercises = sorted(lab.exercises, key=lambda exercise: exercise.whole_file)
    cases = [case for exercise in exercises for case in cases_for(rubric, lab, exercise, options.seed)]
    return sorted(jobs_for(cases), key=lambda job: -job.world_size)


def _asked(only: Collection[str], lab: Lab) -> Collection[str]:
    names = [exercise.name for exercise in lab.exercises]
    for name in only:
        if name not in names:
            raise UsageError(f"There is no exercise {name}. The exercises are {', '.join(names)}.")
    return only or names


def _device(asked: str) -> str:
    if asked == "cuda":
        raise UsageError(
            "Grading on GPUs is not built yet: leave out --device, or pass --device cpu. Code written for "
            "GPUs is graded on the CPU as it is."
        )
    return "cpu"


def replay_command(path: Path, options: Options) -> str:
    """The command that grades ``path`` in the same way again."""
    words = ["grader", "check", str(path), "--seed", str(options.seed)]
    for name in options.only:
        words += ["--only", name]
    if options.sandbox != "bwrap":
        words += ["--sandbox", options.sandbox]
    if options.launcher != "fork":
        words += ["--launcher", options.launcher]
    return shlex.join(words)


def _notes(submission: Submission, options: Options) -> tuple[str, ...]:
    if options.sandbox == "none":
        return (*submission.notes, "This submission was run without a sandbox (--sandbox none).")
    return submission.notes


def _machine() -> dict[str, str | int | float | bool | None]:
    import torch

    return {
        "grader": grader.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "bubblewrap": sandbox.version(),
        "executable": Path(sys.executable).name,
    }
