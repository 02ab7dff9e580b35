"""What is known of wrong values, and what an explanation of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.exercises.contract import Case, Exercise, Mistake
from grader.judge.artifacts import Tensors


def _nothing(mistake: Mistake, rank: int) -> Tensors:
    return {}


@dataclass(frozen=True)
class Evidence:
    """The values of the ranks that returned tensors fit for arithmetic (right names, shapes, dtypes, finite).

    ``wrong`` gives, for each rank that is wrong, the names that do not match. ``arguments`` are the
    integers that the student's function was called with. ``mistaken(mistake, rank)`` gives what a rank
    returns that makes one of the exercise's known mistakes.
    """

    exercise: Exercise
    case: Case
    expected: Mapping[int, Tensors]
    initial: Mapping[int, Tensors]
    returned: Mapping[int, Tensors]
    wrong: Mapping[int, tuple[str, ...]]
    arguments: Mapping[str, int]
    tolerance: float
    mistaken: Callable[[Mistake, int], Tensors] = _nothing


@dataclass(frozen=True)
class Explanation:
    """A named cause and the ranks that it explains."""

    code: str
    message: str
    ranks: tuple[int, ...]


Explainer = Callable[[Evidence], Explanation | None]


def is_gradient(name: str) -> bool:
    """Whether a value of this name is a gradient; all others are weights or outputs."""
    return name.endswith("_gradient")
