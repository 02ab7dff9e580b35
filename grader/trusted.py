"""What every submission of a run is asked, and what is expected of it: made once, from the course alone."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grader
from grader import lazy_compiler
from grader.course import Course
from grader.job import Job
from grader.options import Options, UsageError
from grader.rubric import Rubric
from grader.run import sandbox

if TYPE_CHECKING:
    from grader.exercises.contract import Lab
    from grader.judge.baseline import Baseline
    from grader.judge.given import Given


@dataclass(frozen=True)
class Trusted:
    """The lab, its jobs, the data that ranks are given and the baselines; ``machine`` is for the report."""

    lab: Lab
    device: str
    jobs: Sequence[Job]
    given: Given
    baseline: Baseline
    machine: Mapping[str, str | int | float | bool | None]


def trusted(course: Course, rubric: Rubric, options: Options) -> Trusted:
    """Import torch and all that is trusted. Raises `UsageError` and `grader.rubric_errors.RubricError`."""
    # torch comes with these: not before the sandbox has started.
    from grader.cases import secret_of
    from grader.judge.baseline import Baseline
    from grader.judge.given import Given

    lab: Lab = importlib.import_module(f"grader.exercises.{rubric.lab}").LAB
    lazy_compiler.postpone()
    given = Given(lab, secret_of(options.seed))
    return Trusted(
        lab,
        _device(options.device),
        _jobs(course, rubric, lab, options),
        given,
        Baseline(lab, course.reference_dir / lab.file, course.staff_utils, given),
        _machine(),
    )


def exercises_asked(only: Collection[str], lab: Lab) -> Collection[str]:
    """The names of the exercises to ask, all where ``only`` is empty. Raises `UsageError` for others."""
    names = [exercise.name for exercise in lab.exercises]
    for name in only:
        if name not in names:
            raise UsageError(f"There is no exercise {name}. The exercises are {', '.join(names)}.")
    return only or names


def _jobs(course: Course, rubric: Rubric, lab: Lab, options: Options) -> list[Job]:
    """What is to be run, the largest first, so that none of those is left over at the end."""
    from grader.cases import cases_for, jobs_for
    from grader.rubric_check import check_rubric

    check_rubric(rubric, lab, course.rubric_path)
    cases = [case for exercise in lab.exercises for case in cases_for(rubric, lab, exercise, options.seed)]
    # What runs in a process behind a hidden case may know it, and a student sees more of the handout's cases
    # than how they went. A whole file may well take the process group down: nothing comes after it.
    cases.sort(key=lambda case: (lab[case.exercise].whole_file, case.seed != lab.seed))
    return sorted(jobs_for(cases), key=lambda job: -job.world_size)


def _device(asked: str) -> str:
    if asked == "cuda":
        raise UsageError(
            "Grading on GPUs is not built yet: leave out --device, or pass --device cpu. Code written for "
            "GPUs is graded on the CPU as it is."
        )
    return "cpu"


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
