"""Which cases are asked of an exercise, and how they are bundled into jobs."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from grader.exercises.contract import Case, Exercise, Lab
from grader.job import Job
from grader.rubric import HiddenCase, Rubric

LARGEST_SEED = 2**31 - 1


def cases_for(rubric: Rubric, lab: Lab, exercise: Exercise, master_seed: int) -> tuple[Case, ...]:
    """The cases of each check that the rubric gives points for (0 points too), in a fixed order.

    The hidden seeds depend on ``master_seed`` and on the entry's place alone: every exercise and every
    submission of a class is asked the same. The names are trusted: `grader.rubric_check` comes first.
    """
    points = rubric.exercises[exercise.name].points
    usual = Case(
        exercise.name, "", lab.seed, rubric.baseline.world_size, dict(lab.sizes), dict(exercise.arguments)
    )
    hidden = [_hidden(usual, entry, hidden_seed(master_seed, i)) for i, entry in enumerate(rubric.hidden)]
    asked = {
        "script": [usual],
        "baseline": [usual],
        "hidden": hidden,
        # What happens between ranks needs some: the handout's case, and one of another number of ranks.
        "input_gradient": [usual, *[c for c in hidden if c.world_size not in (1, usual.world_size)][:1]],
        "own_share": [usual],
    }
    return tuple(
        replace(case, check=check) for check, cases in asked.items() if check in points for case in cases
    )


def _hidden(usual: Case, entry: HiddenCase, seed: int) -> Case:
    return replace(
        usual,
        seed=seed,
        world_size=entry.world_size,
        sizes={**usual.sizes, **entry.sizes},
        arguments={name: entry.arguments.get(name, value) for name, value in usual.arguments.items()},
    )


@cache
def secret_of(master_seed: int) -> str:
    """What everything that is drawn for a run is drawn from, in place of its master seed.

    A rank knows some of what was drawn, and could try master seeds until one fits: a person's 2026 would be
    found at once. To try one takes a tenth of a second and 32 MiB this way (scrypt, RFC 7914).
    """
    drawn = hashlib.scrypt(
        str(master_seed).encode(), salt=b"grader", n=2**15, r=8, p=1, maxmem=2**26, dklen=32
    )
    return drawn.hex()


def hidden_seed(master_seed: int, index: int) -> int:
    """The seed of the ``index``-th hidden entry, 1 to 2**31 - 1.

    Replaying a recorded grade depends on it: it never changes.
    """
    return random.Random(f"{secret_of(master_seed)}/{index}").randint(1, LARGEST_SEED)


def jobs_for(cases: Sequence[Case]) -> tuple[Job, ...]:
    """One job for each world size, in order of first appearance, each with a fresh run id.

    The run id is secret from other submissions, so that an artifact cannot be prepared beforehand.
    """
    bundles: dict[int, list[Case]] = {}
    for case in cases:
        bundles.setdefault(case.world_size, []).append(case)
    return tuple(
        Job(secrets.token_hex(8), world_size, tuple(bundle)) for world_size, bundle in bundles.items()
    )
