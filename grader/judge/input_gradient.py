"""A layer whose output and weight gradient are right, and whose input gradient is not."""

from __future__ import annotations

import torch

from grader.judge.evidence import Evidence, Explanation
from grader.judge.factors import scale_factor
from grader.judge.near import largest_difference
from grader.judge.shards import shard_order

NAME = "input_gradient"

_MEANING = (
    "Output and weight gradient are right, but the gradient of X is not: {seen}. The layer before this one "
    "would learn from it. Look at the backward pass of the function through which X enters the layer, and "
    "whether the layer goes on with what that function returns."
)


def input_gradient_wrong(evidence: Evidence) -> Explanation | None:
    """Nothing but the gradient of the input is wrong."""
    ranks = tuple(rank for rank, names in evidence.wrong.items() if names == (NAME,))
    if not ranks:
        return None
    returned, expected = (values[ranks[0]][NAME] for values in (evidence.returned, evidence.expected))
    seen = _seen(returned, expected, evidence)
    return Explanation("input-gradient-wrong", _MEANING.format(seen=seen), ranks)


def _seen(returned: torch.Tensor, expected: torch.Tensor, evidence: Evidence) -> str:
    """In words, how the gradient of the first rank differs from the right one."""
    tolerance, world_size = evidence.tolerance, evidence.case.world_size
    if not bool(returned.any()):
        return "it is zero everywhere, as if no backward pass had reached X"
    k = scale_factor(torch.zeros_like(expected), expected, returned, tolerance)
    if k is not None:
        meaning = " (the world size)" if abs(k - world_size) < 2e-3 * world_size else ""
        return f"it is {k:.3g} times the right one{meaning}"
    order = shard_order(returned, expected, world_size, tolerance)
    if order is not None:
        return f"its blocks of columns are those of ranks {', '.join(map(str, order))}"
    return f"it differs from the right one by up to {largest_difference(returned, expected):.3g}"
