"""Which cases are asked of an exercise, and how they are bundled into jobs."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence

from grader.exercises.contract import Case, Exercise, Lab
from grader.job import Job
from grader.rubric import Rubric

LARGEST_SEED = 2**31 - 1


def cases_for(rubric: Rubric, lab: Lab, exercise: Exercise, master_seed: int) -> tuple[Case, ...]:
    """The cases of each check that the rubric gives points for (0 points too), the baseline first.

    The hidden seeds depend on ``master_seed`` and on the entry's place alone: every exercise and every
    submission of a class is asked the same. The names are trusted: `grader.rubric_check` comes first.
    """
    points = rubric.exercises[exercise.name].points
    sizes, arguments, world_size = dict(lab.sizes), dict(exercise.arguments), rubric.baseline.world_size
    cases = [
        Case(exercise.name, check, lab.seed, world_size, sizes, arguments)
        for check in ("script", "baseline")
        if check in points
    ]
    if "hidden" in points:
        cases += [
            Case(
                exercise=exercise.name,
                check="hidden",
                seed=hidden_seed(master_seed, index),
                world_size=hidden.world_size,
                sizes={**sizes, **hidden.sizes},
                arguments={name: hidden.arguments.get(name, usual) for name, usual in arguments.items()},
            )
            for index, hidden in enumerate(rubric.hidden)
        ]
    return tuple(cases)


def hidden_seed(master_seed: int, index: int) -> int:
    """The seed of the ``index``-th hidden entry, 1 to 2**31 - 1.

    Replaying a recorded grade depends on it: it never changes.
    """
    return random.Random(f"{master_seed}/{index}").randint(1, LARGEST_SEED)


def jobs_for(cases: Sequence[Case]) -> tuple[Job, ...]:
    """One job for each exercise and world size, in order of first appearance, each with a fresh run id.

    The run id is secret from other submissions, so that an artifact cannot be prepared beforehand.
    """
    bundles: dict[tuple[str, int], list[Case]] = {}
    for case in cases:
        bundles.setdefault((case.exercise, case.world_size), []).append(case)
    return tuple(
        Job(secrets.token_hex(8), exercise, world_size, tuple(bundle))
        for (exercise, world_size), bundle in bundles.items()
    )
