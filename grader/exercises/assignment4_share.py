"""Which data each rank owns in assignment 4, and how a file is given its share instead of drawing it all.

The data is not that of any seed: it cannot be drawn a second time, and what a rank does not own is NaN.
Honest work never looks at it; whoever computes the whole step on one rank gets NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.exercises.contract import Case

_Tensors = dict[str, torch.Tensor]
_NAN = float("nan")


def num_layers(case: Case) -> int:
    """The handout's ``max(4, world_size)``, unless the case sets it."""
    return case.sizes.get("num_layers", max(4, case.world_size))


def stage_of(case: Case, rank: int) -> range:
    """The layers of this rank's pipeline stage."""
    layers = num_layers(case)
    return range(rank * layers // case.world_size, (rank + 1) * layers // case.world_size)


def draw(case: Case, generator: torch.Generator) -> _Tensors:
    """``weight`` [input_dim, output_dim], ``inputs`` [batch, input_dim], ``targets`` [batch, output_dim],
    ``deep_targets`` [batch, input_dim] and ``layer.<i>`` [input_dim, input_dim] at He scale."""
    rows, width, out = (case.sizes[name] for name in ("global_batch_size", "input_dim", "output_dim"))
    data = {
        "weight": torch.randn(width, out, generator=generator),
        "inputs": torch.randn(rows, width, generator=generator),
        "targets": torch.randn(rows, out, generator=generator),
        "deep_targets": torch.randn(rows, width, generator=generator),
    }
    for layer in range(num_layers(case)):
        data[f"layer.{layer}"] = torch.randn(width, width, generator=generator) * (2 / width) ** 0.5
    return data


def share_everything(data: _Tensors, case: Case, rank: int) -> _Tensors:
    """Gradient accumulation: one rank does it all, and only how it goes about it is looked at."""
    return {**data, **_withheld(data, "layer.")}


def share_rows(data: _Tensors, case: Case, rank: int) -> _Tensors:
    """Data parallel: the rank's own rows of the batch, the r-th slice unless the case says which."""
    batch, size = len(data["inputs"]), len(data["inputs"]) // case.world_size
    rows = case.rows[rank] if case.rows else range(rank * size, (rank + 1) * size)
    others = [row for row in range(batch) if row not in rows]
    return {
        **_withheld(data, "layer."),
        "weight": data["weight"],
        **{name: data[name].index_fill(0, torch.tensor(others), _NAN) for name in ("inputs", "targets")},
    }


def share_columns(data: _Tensors, case: Case, rank: int) -> _Tensors:
    """Column parallel: the rank's own columns of the weight."""
    return {
        **_withheld(data, "layer."),
        "weight": _only(data["weight"], 1, case, rank),
        "inputs": data["inputs"],
        "targets": data["targets"],
    }


def share_input_columns(data: _Tensors, case: Case, rank: int) -> _Tensors:
    """Row parallel: the rank's own rows of the weight, and the columns of the input that meet them."""
    return {
        **_withheld(data, "layer."),
        "weight": _only(data["weight"], 0, case, rank),
        "inputs": _only(data["inputs"], 1, case, rank),
        "targets": data["targets"],
    }


def share_stage(data: _Tensors, case: Case, rank: int) -> _Tensors:
    """Pipeline: the stage's own layers; inputs on the first stage, targets on the last."""
    first, last = rank == 0, rank == case.world_size - 1
    own = {f"layer.{layer}" for layer in stage_of(case, rank)}
    shared = {name: value if name in own else _nan(value) for name, value in data.items()}
    if first:
        shared["inputs"] = data["inputs"]
    if last:
        shared["deep_targets"] = data["deep_targets"]
    return shared


def _only(value: torch.Tensor, dim: int, case: Case, rank: int) -> torch.Tensor:
    """``value`` with NaN outside of the rank's own slice along ``dim``."""
    size = value.shape[dim] // case.world_size
    withheld = _nan(value)
    withheld.narrow(dim, rank * size, size).copy_(value.narrow(dim, rank * size, size))
    return withheld


def _nan(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, _NAN)


def _withheld(data: _Tensors, prefix: str) -> _Tensors:
    named = {name: value for name, value in data.items() if name.startswith(prefix)}
    return {name: _nan(value) for name, value in {**named, "deep_targets": data["deep_targets"]}.items()}


@contextmanager
def provide(utils: ModuleType, data: _Tensors, case: Case) -> Iterator[ModuleType]:
    """Let ``create_batch``, ``create_layers`` and a weight drawn by torch's own functions give ``data``."""
    given = ModuleType(utils.__name__)
    given.__dict__.update(utils.__dict__)
    given.__dict__["create_batch"] = _batch(data, utils.create_batch)
    given.__dict__["create_layers"] = lambda num_layers, dim, seed: [
        data[f"layer.{layer}"].clone() for layer in range(num_layers)
    ]
    with _DrawnWeight(data["weight"]):
        yield given


def _batch(data: _Tensors, create_batch: Callable[..., Any]) -> Callable[..., Any]:
    def given_batch(
        batch_size: int, input_dim: int, output_dim: int, seed: int = 42, device: Any = "cuda"
    ) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(seed)  # as the real one leaves the generator: seeded
        inputs = data["inputs"]
        targets = data["targets" if output_dim == data["targets"].shape[1] else "deep_targets"]
        if (batch_size, input_dim) != tuple(inputs.shape) or targets.shape[1] != output_dim:
            drawn: tuple[torch.Tensor, torch.Tensor] = create_batch(
                batch_size, input_dim, output_dim, seed=seed, device=device
            )
            return drawn
        return inputs.clone().to(device), targets.clone().to(device)

    return given_batch


class _DrawnWeight(TorchFunctionMode):
    """Whatever torch draws from a normal distribution in the weight's shape is the given weight."""

    _FACTORIES = (torch.randn, torch.normal, torch.randn_like)

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self._weight = weight

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        draws = func in self._FACTORIES or func is torch.Tensor.normal_
        if draws and isinstance(result, torch.Tensor) and result.shape == self._weight.shape:
            with torch.no_grad():
                result.copy_(self._weight)
        return result
