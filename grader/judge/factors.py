"""Updates that are the right one times a constant, and what the constant gives away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from grader.exercises.contract import Case, Exercise

_LOOK = "Look at what the gradient or the loss is divided by, and how often."
_TWICE = (
    "Look for a second `backward()` that adds to a gradient that was not cleared, or for a second "
    "`optimizer.step()`."
)
_SUMMED_BACK = (
    "Every rank has the same loss, and the whole gradient of the output: the backward pass must not sum it "
    "over the ranks once more. Look at the backward pass of "
)

#: (exercise, or "" for any; what the factor equals) -> code and sentence. The first that fits is taken.
_NAMED = {
    ("data_parallel", "world_size"): (
        "gradient-not-averaged",
        "The gradients were summed over the ranks but not averaged: divide the sum by the number of ranks "
        "before `optimizer.step()`.",
    ),
    ("data_parallel", "1/world_size"): (
        "gradient-averaged-twice",
        "The gradients were divided by the number of ranks twice. Look whether both `ReduceOp.AVG` and a "
        "division are used, or whether the loss is divided by the number of ranks as well.",
    ),
    ("column_parallel", "world_size"): (
        "gradient-scaled",
        _SUMMED_BACK + "`GatherParallel`, or whether the loss is the mean over this rank's columns only.",
    ),
    ("row_parallel", "world_size"): ("gradient-scaled", _SUMMED_BACK + "`ReduceParallel`."),
    ("pipeline", "num_micro_batches"): (
        "gradient-scaled",
        "Each micro-batch's loss is already a mean, so their sum is too large: the last stage divides each "
        "loss by the number of micro-batches before its backward pass.",
    ),
    ("", "accumulation_steps"): (
        "accumulation-not-scaled",
        "Each micro-batch's loss is already a mean, so their sum is too large: divide each loss by the "
        "number of accumulation steps before its backward pass.",
    ),
}


def scale_factor(
    initial: torch.Tensor, expected: torch.Tensor, value: torch.Tensor, tolerance: float
) -> float | None:
    """The k for which ``value`` is ``initial - k * (initial - expected)`` within the tolerance.

    By least squares, in float64; the three have one shape. None when no k fits, or when k is 1.
    """
    initial, expected, value = initial.double(), expected.double(), value.double()
    right, found = initial - expected, initial - value
    square = float((right * right).sum())
    if square == 0.0:
        return None
    k = float((right * found).sum()) / square
    allowed = tolerance * max(1.0, abs(k)) * (1 + initial.abs())
    fits = bool(((found - k * right).abs() <= allowed).all())
    # Noise as large as the update itself would fit any factor, so the update must stand out of it.
    stands_out = abs(k) * float(right.abs().max()) > 10 * tolerance
    return k if fits and stands_out and abs(k - 1) > 1e-3 else None


def factor_cause(
    k: float, exercise: Exercise, case: Case, arguments: Mapping[str, int], what: str = "update"
) -> tuple[str, str]:
    """The code and the message for an update (or ``what`` else) that is ``k`` times the expected one."""
    for key, number, words in _meanings(exercise, case, arguments):
        if abs(k - number) <= 2e-3 * number:
            seen = f"The {what} is {k:.3g} times the expected one; {k:.3g} is {words}. "
            named = _NAMED.get((exercise.name, key)) or _NAMED.get(("", key))
            return (named[0], seen + named[1]) if named else ("gradient-scaled", seen + _LOOK)
    seen = f"The {what} is {k:.3g} times the expected one, in every element. "
    if k < 0:
        return "gradient-scaled", f"{seen}It goes the wrong way: up the gradient instead of down. {_LOOK}"
    if abs(k - 2) <= 4e-3:
        return "gradient-scaled", f"{seen}{_TWICE}"
    return "gradient-scaled", f"{seen}{_LOOK} The learning rate has the same effect."


def _meanings(
    exercise: Exercise, case: Case, arguments: Mapping[str, int]
) -> Iterator[tuple[str, float, str]]:
    """Numbers that the factor may equal, each with its key and its name, likelier ones first.

    What an exercise takes as an argument comes before the world size: with four of both, a factor of
    four in gradient accumulation is about the steps.
    """
    counts = [(key, count, _words(key)) for key, count in arguments.items()]
    if exercise.ranks_asked == "all":
        counts.append(("world_size", case.world_size, "the world size"))
    for key, count, words in counts:
        if count > 1:
            yield key, float(count), words
            yield f"1/{key}", 1 / count, f"one divided by {words}"
    for key, count, words in counts:
        if count > 1:
            yield f"{key}^2", float(count**2), f"the square of {words}"
            yield f"1/{key}^2", 1 / count**2, f"one divided by the square of {words}"


def _words(argument: str) -> str:
    return f"the number of {argument.removeprefix('num_').replace('_', ' ')}".replace(
        "micro batches", "micro-batches"
    )
