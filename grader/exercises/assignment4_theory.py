"""What one rank has to compute and to communicate, by each strategy of assignment 4.

A product of [m, k] and [k, n] is 2 m k n FLOPs. A layer takes one forward and one for the weight's gradient,
and a third for its input's, which the model's own inputs do not need. Numbers are of 4 bytes.
"""

from __future__ import annotations

from grader.exercises.assignment4_share import stage_of
from grader.exercises.contract import Case, Theory

_BYTES = 4


def _sizes(case: Case) -> tuple[int, int, int]:
    return case.sizes["global_batch_size"], case.sizes["input_dim"], case.sizes["output_dim"]


def alone(case: Case, rank: int) -> Theory:
    """Gradient accumulation: rank 0 does the step, the others nothing."""
    batch, width, out = _sizes(case)
    return Theory(4 * batch * width * out if rank == 0 else 0, 0)


def data_parallel(case: Case, rank: int) -> Theory:
    """One all-reduce of the gradient [input_dim, output_dim]."""
    batch, width, out = _sizes(case)
    return Theory(4 * batch * width * out // case.world_size, _BYTES * width * out)


def column_parallel(case: Case, rank: int) -> Theory:
    """The rank's columns of the output [batch, output_dim] are gathered, and of the updated weight."""
    batch, width, out = _sizes(case)
    flops = 4 * batch * width * out // case.world_size
    return Theory(flops, _BYTES * (batch * out + width * out) // case.world_size)


def row_parallel(case: Case, rank: int) -> Theory:
    """The output [batch, output_dim] is all-reduced; the rank's rows of the updated weight are gathered."""
    batch, width, out = _sizes(case)
    flops = 4 * batch * width * out // case.world_size
    return Theory(flops, _BYTES * (batch * out + width * out // case.world_size))


def pipeline(case: Case, rank: int) -> Theory:
    """Activations [batch, input_dim] and their gradients pass each border between two stages."""
    batch, width, _ = _sizes(case)
    layers = len(stage_of(case, rank))
    products = 3 * layers - (rank == 0)
    borders = (rank > 0) + (rank < case.world_size - 1)
    return Theory(2 * products * batch * width**2, _BYTES * 2 * borders * batch * width)
