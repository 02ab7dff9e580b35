"""Parts 4 and 5 asked for more than the step: a layer's output, and both gradients that go through it.

In the step the batch needs no gradient, so a layer that hands a wrong one to the layer before it would
never be found out. Here the layer is applied to an input that asks for its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
import torch.distributed as dist

from grader.exercises.contract import Case, Probe, WrongReturn

_Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class LayerData:
    """What a layer is built from and applied to.

    weight [in, out], inputs [batch, in], targets [batch, out].
    """

    weight: torch.Tensor
    inputs: torch.Tensor
    targets: torch.Tensor


def layer_data(case: Case) -> LayerData:
    """Draw the data of a case on the CPU: the same on every rank and in the trusted process."""
    batch, rows, columns = (case.sizes[name] for name in ("global_batch_size", "input_dim", "output_dim"))
    generator = torch.Generator().manual_seed(case.seed)
    return LayerData(
        weight=torch.randn(rows, columns, generator=generator) / rows**0.5,
        inputs=torch.randn(batch, rows, generator=generator),
        targets=torch.randn(batch, columns, generator=generator),
    )


def layer_probe(layer: str, axis: int) -> Probe:
    """Ask class ``layer``, which keeps a shard of the weight along ``axis``, for output, dW and dX.

    All of them on every rank: ``output`` [batch, out], ``weight_gradient`` of the rank's own shard (as
    [in, out / world_size] or [in / world_size, out]) and ``input_gradient`` [batch, in].
    """

    def drive(student: ModuleType, case: Case, device: str) -> dict[str, object]:
        data = layer_data(case)
        model = getattr(student, layer)(data.weight, dist.get_world_size(), dist.get_rank()).to(device)
        parameter = _only_parameter(layer, model)
        inputs = data.inputs.to(device).requires_grad_()
        targets = data.targets.to(device)
        output = model(inputs)
        _require_output(layer, output, inputs, targets)
        # A copy: what follows may work in place.
        returned = output.detach().clone()
        torch.autograd.backward(_loss(output, targets))
        shard = _shards(data.weight, case, axis)[0].shape
        return {
            "output": returned,
            "weight_gradient": _upright(_gradient(parameter), shard),
            "input_gradient": _gradient(inputs),
        }

    def expect(reference: ModuleType, case: Case, rank: int) -> _Tensors:
        data = layer_data(case)
        model = reference.CustomLinearLayer(data.weight)
        (parameter,) = model.parameters()
        inputs = data.inputs.clone().requires_grad_()
        output = model(inputs)
        torch.autograd.backward(_loss(output, data.targets))
        return {
            "output": output.detach(),
            "weight_gradient": _shards(_gradient(parameter), case, axis)[rank],
            "input_gradient": _gradient(inputs),
        }

    def initial(reference: ModuleType, case: Case, rank: int) -> _Tensors:
        """Before the backward pass a gradient is zero."""
        data = layer_data(case)
        shard = _shards(data.weight, case, axis)[rank]
        return {
            "weight_gradient": torch.zeros_like(shard),
            "input_gradient": torch.zeros_like(data.inputs),
        }

    return Probe((layer,), drive, expect, initial)


def _loss(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean over the batch of the squared error: with weights of unit scale, output and gradients are
    then large against the tolerance, and their rounding errors small."""
    return torch.nn.functional.mse_loss(output, targets, reduction="sum") / len(targets)


def _shards(weight: torch.Tensor, case: Case, axis: int) -> tuple[torch.Tensor, ...]:
    return weight.chunk(case.world_size, axis)


def _only_parameter(layer: str, model: object) -> torch.nn.Parameter:
    parameters = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    if len(parameters) != 1:
        raise WrongReturn(
            f"{layer} must be a module with one parameter, the rank's shard of the weight; it has "
            f"{len(parameters)} parameters."
        )
    return parameters[0]


def _require_output(layer: str, output: object, inputs: torch.Tensor, targets: torch.Tensor) -> None:
    """Without a whole output there is no loss, and nothing to go back from."""
    if isinstance(output, torch.Tensor) and output.shape == targets.shape:
        return
    found = f"shape {list(output.shape)}" if isinstance(output, torch.Tensor) else type(output).__name__
    raise WrongReturn(
        f"{layer} applied to X of shape {list(inputs.shape)} must return the whole output, of shape "
        f"{list(targets.shape)}, on every rank; it returned {found}."
    )


def _gradient(tensor: torch.Tensor) -> torch.Tensor:
    """A gradient that never came is zero."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.detach()


def _upright(gradient: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """A layer may keep its shard as [out, in], as torch's own does: name and layout are its affair."""
    turned = gradient.ndim == 2 and gradient.shape != shape and gradient.T.shape == shape
    return gradient.T if turned else gradient
