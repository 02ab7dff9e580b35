"""The arithmetic of well-known wrong column- and row-parallel layers, on one device.

A layer is followed through one rank: its shard, its output, and both gradients. The whole step then gathers
the ranks' updated shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import torch

from grader.exercises.assignment4_layers import LayerData, layer_data
from grader.exercises.assignment4_wrong_steps import (
    Tensors,
    Values,
    error,
    gradient,
    training_data,
    weight_after,
)
from grader.exercises.contract import Case


@dataclass(frozen=True)
class Pass:
    """What one rank makes of a layer: its shard, the output, dW of the shard, and dX."""

    shard: torch.Tensor
    output: torch.Tensor
    weight_gradient: torch.Tensor
    input_gradient: torch.Tensor


def layer_step(axis: int, one_rank: Callable[[LayerData, int, int], Pass]) -> Values:
    """Values of parts 4 and 5, for the whole step and for the layer alone.

    ``one_rank(data, world_size, rank)`` is the pass of one rank; the step gathers the shards along ``axis``.
    """

    def values(reference: ModuleType, case: Case, rank: int) -> Tensors:
        if case.check == "input_gradient":
            data = layer_data(case)
            made = one_rank(data, case.world_size, rank)
            # The probe's loss is the mean over the batch alone: larger by the number of columns.
            columns = data.targets.shape[1]
            return {
                "output": made.output,
                "weight_gradient": made.weight_gradient * columns,
                "input_gradient": made.input_gradient * columns,
            }
        data = training_data(reference, case)
        passes = [one_rank(data, case.world_size, other) for other in range(case.world_size)]
        shards = [made.shard - reference.learning_rate * made.weight_gradient for made in passes]
        return {"updated_weight": torch.cat(shards, axis)}

    return values


Order = Callable[[int, int], list[int]]


def taken(tensor: torch.Tensor, axis: int, order: Order, shards: int) -> torch.Tensor:
    """``tensor`` with its places along ``axis`` in the order ``order(length, shards)``."""
    return tensor.index_select(axis, torch.tensor(order(tensor.shape[axis], shards)))


def blocks(which: Callable[[int, int], int]) -> Order:
    """Rank r takes the block of rank ``which(r, world_size)``."""

    def order(length: int, shards: int) -> list[int]:
        size = length // shards
        return [which(rank, shards) * size + place for rank in range(shards) for place in range(size)]

    return order


def strided(length: int, shards: int) -> list[int]:
    """Rank r takes every ``shards``-th place, from place r on."""
    return [place for rank in range(shards) for place in range(rank, length, shards)]


def other_weight(axis: int, order: Order) -> Values:
    """Each rank takes other columns (axis 1) or rows (axis 0) of the weight than its own."""

    def one_rank(data: LayerData, world_size: int, rank: int) -> Pass:
        weight = taken(data.weight, axis, order, world_size)
        return _pass(axis, weight, data.inputs, data.targets, world_size, rank)

    return layer_step(axis, one_rank)


def other_inputs(order: Order) -> Values:
    """Each rank of part 5 takes other columns of X than those that meet its rows of W."""

    def one_rank(data: LayerData, world_size: int, rank: int) -> Pass:
        inputs = taken(data.inputs, 1, order, world_size)
        return _pass(0, data.weight, inputs, data.targets, world_size, rank)

    return layer_step(0, one_rank)


def _pass(
    axis: int, weight: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor, world_size: int, rank: int
) -> Pass:
    output = inputs @ weight
    back = error(output, targets)
    dw = inputs.T @ back
    return Pass(
        weight.chunk(world_size, axis)[rank], output, dw.chunk(world_size, axis)[rank], back @ weight.T
    )


def own_term_only(data: LayerData, world_size: int, rank: int) -> Pass:
    """Part 5 without the sum over the ranks: each takes its own term for the whole output."""
    inputs, shards = data.inputs.chunk(world_size, 1), data.weight.chunk(world_size, 0)
    outputs = [x @ shard for x, shard in zip(inputs, shards, strict=True)]
    back = [error(output, data.targets) for output in outputs]
    dx = torch.cat([g @ shard.T for g, shard in zip(back, shards, strict=True)], dim=1)
    return Pass(shards[rank], outputs[rank], inputs[rank].T @ back[rank], dx)


def own_input_gradient(axis: int) -> Values:
    """The layer is right, but dX holds only what this rank's shard contributes."""

    def values(reference: ModuleType, case: Case, rank: int) -> Tensors:
        if case.check != "input_gradient":
            return {}  # the weight does not show it
        data = layer_data(case)
        right = _pass(axis, data.weight, data.inputs, data.targets, case.world_size, rank)
        only_own = torch.zeros_like(data.weight)
        own = only_own.chunk(case.world_size, axis)[rank]
        own.copy_(right.shard)
        columns = data.targets.shape[1]
        return {
            "output": right.output,
            "weight_gradient": right.weight_gradient * columns,
            "input_gradient": error(right.output, data.targets) @ only_own.T * columns,
        }

    return values


def own_shard_updated(axis: int) -> Values:
    """The whole weight as it was, with this rank's shard of it updated."""

    def update(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
        weight, dw = data.weight.clone(), gradient(data.weight, data.inputs, data.targets)
        own = weight.chunk(case.world_size, axis)[rank]
        own.sub_(lr * dw.chunk(case.world_size, axis)[rank])
        return weight

    return weight_after(update)


def gathered_in(axis: int, order: Order) -> Values:
    """The right weight, put together in another order."""

    def update(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
        right = data.weight - lr * gradient(data.weight, data.inputs, data.targets)
        return taken(right, axis, order, case.world_size)

    return weight_after(update)
