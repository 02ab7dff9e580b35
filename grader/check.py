"""Grades one submission, from the file handed in to the report."""

from __future__ import annotations

import importlib
import os
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import grader
from grader import lazy_dynamo
from grader.course import Course
from grader.intake import Submission, take_in
from grader.job import Job
from grader.report.build import RunFacts, build_report
from grader.report.schema import Report
from grader.rubric import Rubric
from grader.run import sandbox
from grader.run.session import Session

if TYPE_CHECKING:
    from grader.exercises.contract import Lab
    from grader.grading import Timings

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
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        staging = Path(folder) / "submission"
        submission = take_in(path, staging, (f"{rubric.lab}.py",), rubric.intake.for_intake())
        took_in = time.monotonic()
        _make_readable(Path(folder))
        places = {"bwrap": sandbox.bubblewrap, "none": sandbox.in_the_open}
        place = places[options.sandbox](staging, course.staff_utils)
        # The agent imports torch while this process does.
        with Session(place, rubric.lab, rubric.limits.for_job(), options.launcher) as session:
            graded = _grade(path, submission, course, rubric, options, progress, session)
    graded.timings.started = begun
    graded.timings.spans.insert(0, ("intake", 0.0, took_in - begun))
    return graded


def _grade(
    path: Path,
    submission: Submission,
    course: Course,
    rubric: Rubric,
    options: Options,
    progress: Progress,
    session: Session,
) -> Graded:
    begun = time.monotonic()
    # torch comes with these: not before the sandbox has started.
    from grader.grading import Grading, Timings
    from grader.judge.baseline import Baseline
    from grader.judge.given import Given

    lab: Lab = importlib.import_module(f"grader.exercises.{rubric.lab}").LAB
    lazy_dynamo.postpone()
    device = _device(options.device)
    timings = Timings(begun)
    timings.add("import torch (grader)", begun)
    jobs = _jobs(course, rubric, lab, options)
    progress.planned(sum(len(job.cases) for job in jobs))
    given = Given(lab, options.seed)
    baseline = Baseline(lab, course.reference_dir / lab.file, course.staff_utils, given)
    waited = time.monotonic()
    timings.spans.append(("import torch (sandbox)", 0.0, session.import_seconds()))
    timings.add("wait for the sandbox", waited)
    grading = Grading(
        session,
        lab,
        baseline,
        given,
        rubric.tolerance,
        timings,
        rubric.limits.submission_seconds,
        progress.settled,
    )
    verdicts = grading.grade(jobs, _JOBS_AT_ONCE)
    facts = RunFacts(
        seed=options.seed,
        command=_replay(path, options),
        sandbox=options.sandbox,
        launcher=options.launcher,
        device=device,
        seconds=time.monotonic() - begun,
        machine=_machine(),
        notes=_notes(submission, options),
    )
    return Graded(build_report(submission, rubric, lab, verdicts, facts, only=options.only or None), timings)


def _jobs(course: Course, rubric: Rubric, lab: Lab, options: Options) -> list[Job]:
    """What is to be run, the largest first, so that none of those is left over at the end."""
    from grader.cases import cases_for, jobs_for
    from grader.rubric_check import check_rubric

    check_rubric(rubric, lab, course.rubric_path)
    asked = _asked(options.only, lab)
    # A whole file may well take the process group down when it is done: nothing comes after it.
    exercises = sorted(lab.exercises, key=lambda exercise: exercise.whole_file)
    cases = [
        case
        for exercise in exercises
        if exercise.name in asked
        for case in cases_for(rubric, lab, exercise, options.seed)
    ]
    return sorted(jobs_for(cases), key=lambda job: -job.world_size)


def _make_readable(folder: Path) -> None:
    """The sandbox runs as another user when the grader is root's."""
    folder.chmod(0o755)


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


def _replay(path: Path, options: Options) -> str:
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
