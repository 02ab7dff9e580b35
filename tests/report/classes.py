"""A class made by hand: for the tests of its page, and for the picture of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from grader.report.gradebook import Row
from grader.report.index import render_index
from tests.report.examples import POINTS

EXERCISES = tuple(POINTS)
#: How often in a thousand an exercise goes wrong, and as what.
_WRONG = {
    "script": (240, ("collective-mismatch", "exception")),
    "single_step": (30, ("no-update",)),
    "grad_accumulation": (160, ("accumulation-not-scaled", "gradients-not-cleared", "step-inside-loop")),
    "data_parallel": (210, ("gradient-not-averaged", "same-slice-on-every-rank", "not-parallel")),
    "column_parallel": (300, ("shard-order", "input-gradient-wrong", "own-slice-only")),
    "row_parallel": (340, ("input-gradient-wrong", "shard-order", "todo-left")),
    "pipeline": (430, ("deadlock", "todo-left", "send-recv-order", "last-micro-batch-only")),
}


def students(number: int, seed: int = 0) -> list[Row]:
    """So many, the same for the same seed, with four of them without a score."""
    draw = random.Random(seed)
    rows = [student(f"student {n:03}", draw) for n in range(1, number + 1)]
    zeros = dict.fromkeys(EXERCISES, 0.0)
    odd: Sequence[Row] = (
        Row("student 901", "nothing to grade: student 901.zip holds no assignment4.py.", 0, 100, zeros),
        Row("student 902", "not submitted", 0, 100, zeros),
        Row("student 903", "not graded yet: run the same command again", None, 100),
        Row(
            "student 904",
            "error: The grader failed on student 904.zip: OSError(28).",
            None,
            100,
        ),
    )
    return [*rows[: number - len(odd)], *odd]


def student(name: str, draw: random.Random) -> Row:
    weak = draw.random() ** 1.6 * 3
    scores, exercises, codes = {}, {}, set()
    for exercise, (often, kinds) in _WRONG.items():
        wrong = draw.random() * 1000 < often * weak
        exercises[exercise] = "failed" if wrong else "passed"
        scores[exercise] = POINTS[exercise] * (draw.choice((0, 0, 0.5)) if wrong else 1)
        if wrong:
            codes.add((exercise, draw.choice(kinds)))
    score = sum(scores.values())
    return Row(
        name, "passed" if score == 100 else "failed", score, 100, scores, f"{name}.zip",
        exercises=exercises, codes=frozenset(codes), report=f"{name}/report.html",
    )  # fmt: skip


def class_page(number: int = 120) -> str:
    return render_index(students(number), EXERCISES, "Assignment 4: data, tensor and pipeline parallelism")
