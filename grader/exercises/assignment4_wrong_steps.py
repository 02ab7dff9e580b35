"""The arithmetic of well-known wrong training steps (parts 1, 2, 3 and 6), on one device.

A linear map with the mean squared error has its gradients in closed form; the deep model of the pipeline
goes through autograd. Where a mistake cannot be told from another one at a case's sizes, there are no values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import torch
import torch.nn.functional as F

from grader.exercises.assignment4_layers import LayerData
from grader.exercises.assignment4_share import stage_of
from grader.exercises.contract import Case

Tensors = dict[str, torch.Tensor]
Batch = tuple[torch.Tensor, torch.Tensor]
Values = Callable[[ModuleType, Case, int], Tensors]


def training_data(reference: ModuleType, case: Case) -> LayerData:
    """Weight and batch with which every part begins."""
    weight, _ = reference.single_step(seed=case.seed, device="cpu")
    sizes = (reference.global_batch_size, reference.input_dim, reference.output_dim)
    return LayerData(weight, *reference.create_batch(*sizes, seed=case.seed, device="cpu"))


def gradient(weight: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """DW [in, out] of the mean squared error of inputs @ weight."""
    return inputs.T @ error(inputs @ weight, targets)


def error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The gradient of the mean squared error with respect to the outputs."""
    return (outputs - targets) * (2 / targets.numel())


def weight_after(update: Callable[[LayerData, float, Case, int], torch.Tensor | None]) -> Values:
    """Values of an exercise that returns the whole weight. ``update(data, lr, case, rank)`` gives it."""

    def values(reference: ModuleType, case: Case, rank: int) -> Tensors:
        if case.check == "input_gradient":
            return {}  # it does not return the weight
        updated = update(training_data(reference, case), reference.learning_rate, case, rank)
        return {} if updated is None else {"updated_weight": updated}

    return values


def two_steps(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
    """The whole step, and then another one."""
    once = data.weight - lr * gradient(data.weight, data.inputs, data.targets)
    return once - lr * gradient(once, data.inputs, data.targets)


def two_whole_steps(reference: ModuleType, case: Case, rank: int) -> Tensors:
    """Part 1 returns the weight before the step as well."""
    data = training_data(reference, case)
    return {
        "initial_weight": data.weight,
        "updated_weight": two_steps(data, reference.learning_rate, case, rank),
    }


# Part 2


def steps_of(case: Case) -> int:
    """Into how many micro-batches part 2 cuts the batch."""
    return case.arguments["accumulation_steps"]


def micro_batches(data: LayerData, steps: int) -> list[Batch]:
    """The batch in ``steps`` equal parts."""
    return list(zip(data.inputs.chunk(steps), data.targets.chunk(steps), strict=True))


def one_micro_batch(index: int, scale: Callable[[int], float]) -> Values:
    """Only micro-batch ``index`` counts, ``scale(steps)`` times its own mean gradient."""

    def update(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
        steps = steps_of(case)
        inputs, targets = micro_batches(data, steps)[index]
        return data.weight - lr * scale(steps) * gradient(data.weight, inputs, targets)

    return weight_after(update)


def step_per_micro_batch(scaled: bool, cleared: bool) -> Values:
    """The optimizer steps after every micro-batch; ``cleared``: its gradient only, or all so far."""

    def update(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
        steps, weight = steps_of(case), data.weight
        held = torch.zeros_like(weight)
        for inputs, targets in micro_batches(data, steps):
            new = gradient(weight, inputs, targets) / (steps if scaled else 1)
            held = new if cleared else held + new
            weight = weight - lr * held
        return weight

    return weight_after(update)


def whole_batch_besides(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor | None:
    """The gradient of the whole batch was there before the loop added to it."""
    if steps_of(case) == 2:
        return None  # it could as well be two losses that were not scaled
    return data.weight - 2 * lr * gradient(data.weight, data.inputs, data.targets)


# Part 3


def one_slice(own: bool, scale: Callable[[int], float]) -> Values:
    """The gradient of one slice of the batch, the rank's ``own`` or rank 0's, ``scale(world_size)`` times."""

    def update(data: LayerData, lr: float, case: Case, rank: int) -> torch.Tensor:
        inputs, targets = micro_batches(data, case.world_size)[rank if own else 0]
        return data.weight - lr * scale(case.world_size) * gradient(data.weight, inputs, targets)

    return weight_after(update)


# Part 6


Layers = Sequence[torch.Tensor]


def deep_values(update: Callable[[ModuleType, Case, Layers], Layers]) -> Values:
    """Values of the pipeline: ``update(reference, case, weights)`` gives all layers, of which a rank
    returns its own."""

    def values(reference: ModuleType, case: Case, rank: int) -> Tensors:
        weights = reference.create_layers(reference.num_layers, reference.input_dim, case.seed)
        updated = update(reference, case, weights)
        return {f"layer.{i}": updated[i] for i in stage_of(case, rank)}

    return values


def deep_batch(reference: ModuleType, case: Case) -> Batch:
    """Inputs and targets of the deep model, both [batch, input_dim]."""
    rows, dim = reference.global_batch_size, reference.input_dim
    inputs, targets = reference.create_batch(rows, dim, dim, seed=case.seed, device="cpu")
    return inputs, targets


def deep_micro_batches(reference: ModuleType, case: Case) -> list[Batch]:
    """The same in micro-batches."""
    inputs, targets = deep_batch(reference, case)
    count = case.arguments["num_micro_batches"]
    return list(zip(inputs.chunk(count), targets.chunk(count), strict=True))


def deep_gradients(weights: Layers, inputs: torch.Tensor, targets: torch.Tensor) -> Layers:
    """DW of every layer of the deep model."""
    layers = [weight.clone().requires_grad_() for weight in weights]
    activations = inputs
    for layer in layers:
        activations = F.gelu(activations @ layer)
    return torch.autograd.grad(F.mse_loss(activations, targets), layers)


def deep_step(weights: Layers, gradients: Layers, lr: float) -> Layers:
    """One step of SGD."""
    return [weight - lr * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def deep_one_micro_batch(index: int, scale: Callable[[int], float]) -> Values:
    """Only micro-batch ``index`` counts, ``scale(num_micro_batches)`` times its own mean gradient."""

    def update(reference: ModuleType, case: Case, weights: Layers) -> Layers:
        micro = deep_micro_batches(reference, case)
        return deep_step(
            weights, deep_gradients(weights, *micro[index]), reference.learning_rate * scale(len(micro))
        )

    return deep_values(update)


def deep_step_per_micro_batch(scaled: bool) -> Values:
    """Every micro-batch goes forwards and backwards, and then the optimizer steps."""

    def update(reference: ModuleType, case: Case, weights: Layers) -> Layers:
        micro = deep_micro_batches(reference, case)
        lr = reference.learning_rate / (len(micro) if scaled else 1)
        for inputs, targets in micro:
            weights = deep_step(weights, deep_gradients(weights, inputs, targets), lr)
        return weights

    return deep_values(update)


def deep_two_steps(reference: ModuleType, case: Case, weights: Layers) -> Layers:
    """The whole step, and then another one."""
    batch, lr = deep_batch(reference, case), reference.learning_rate
    once = deep_step(weights, deep_gradients(weights, *batch), lr)
    return deep_step(once, deep_gradients(once, *batch), lr)


def layers_reversed(reference: ModuleType, case: Case, rank: int) -> Tensors:
    """The right weights of a stage, the last layer first."""
    layers = reference.deep_single_step(seed=case.seed, device="cpu")
    own = stage_of(case, rank)
    return {f"layer.{i}": layers[j] for i, j in zip(own, reversed(own), strict=True)}
