"""Whether a rubric fits the lab that it is for: the names in it, and the handout's sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.exercises.contract import Exercise, Lab
from grader.rubric import MUST_DIVIDE, Rubric, not_divisible
from grader.rubric_errors import RubricError

DERIVED_SIZES = frozenset(whole for whole, _ in MUST_DIVIDE)
"""Sizes that a case may set although the lab derives them from others (``num_layers``)."""


def check_rubric(rubric: Rubric, lab: Lab, path: Path) -> None:
    """Compares a rubric, read from ``path``, with ``lab``. Raises `RubricError`, a line for each problem."""
    problems = [
        *_lab_name(rubric, lab),
        *_exercises(rubric, lab),
        *_baseline(rubric, lab),
        *_hidden(rubric, lab),
        *_evidence(rubric, lab),
    ]
    if problems:
        raise RubricError(path, problems)


def _lab_name(rubric: Rubric, lab: Lab) -> Iterator[tuple[str, str]]:
    if rubric.lab != lab.name:
        yield "lab", f"The lab that is graded is {lab.name}, and the rubric is for {rubric.lab}."


def _exercises(rubric: Rubric, lab: Lab) -> Iterator[tuple[str, str]]:
    names = [exercise.name for exercise in lab.exercises]
    for name in rubric.exercises:
        if name not in names:
            yield f"exercises.{name}", f"{lab.name} has no such exercise; it has {', '.join(names)}."
    for exercise in lab.exercises:
        if exercise.name not in rubric.exercises:
            yield "exercises", f"The exercise {exercise.name} of {lab.name} has no points."
            continue
        for check in rubric.exercises[exercise.name].points:
            if check not in (can := _checks_of(exercise)):
                key = f"exercises.{exercise.name}.points.{check}"
                yield key, f"This check cannot be made of {exercise.name}, only {', '.join(can)}."


def _checks_of(exercise: Exercise) -> tuple[str, ...]:
    """The checks that can be made of an exercise."""
    if exercise.whole_file:
        return ("script",)
    shared = ("own_share",) if exercise.share is not None else ()
    return ("baseline", "hidden", *exercise.probes, *shared)


def _baseline(rubric: Rubric, lab: Lab) -> Iterator[tuple[str, str]]:
    numbers = {"world_size": rubric.baseline.world_size, **lab.sizes}
    if problem := not_divisible(numbers):
        yield "baseline.world_size", f"At the handout's sizes, {problem}."


def _evidence(rubric: Rubric, lab: Lab) -> Iterator[tuple[str, str]]:
    if rubric.evidence.points and not any(exercise.printed for exercise in lab.exercises):
        yield (
            "evidence.points",
            f"The driver of {lab.name} prints nothing that a log could be known by: set 0 points.",
        )


def _hidden(rubric: Rubric, lab: Lab) -> Iterator[tuple[str, str]]:
    arguments = {name for exercise in lab.exercises for name in exercise.arguments}
    for number, hidden in enumerate(rubric.hidden, start=1):
        for table, given, needed, allowed in (
            ("sizes", set(hidden.sizes), set(lab.sizes), set(lab.sizes) | DERIVED_SIZES),
            ("arguments", set(hidden.arguments), arguments, arguments),
        ):
            for name in sorted(needed - given):
                yield f"hidden[{number}].{table}.{name}", "This name is needed and is not there."
            for name in sorted(given - allowed):
                known = ", ".join(sorted(allowed))
                yield f"hidden[{number}].{table}.{name}", f"{lab.name} has no such name; it has {known}."
