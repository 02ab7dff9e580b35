"""Measures the work that a rank does while it is driven: FLOPs, rows of the batch in each weight gradient,
and the collectives that it takes part in.

These are facts from a process that runs student code. They go into the report for people to read; what
they decide, and why they may, is said in `grader.judge.share`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_MOST = 200  # entries of a list that are kept


class WorkRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts while it is entered.

    ``flops`` are those of matrix products, forward and backward. ``gradient_rows`` has, for each product
    that gives a matrix of one of the ``weights``' shapes (or its transpose), the length of the dimension
    that it sums over: in a backward pass, the rows of the batch. ``rows`` has the places in ``inputs`` (the
    whole batch [batch, input_dim], where it is wanted) of those that are factors in such products.
    ``collectives`` has the names and the shapes of what went over the process group, in order.
    """

    def __init__(self, weights: frozenset[tuple[int, int]], inputs: torch.Tensor | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._weights = weights | {(columns, rows) for rows, columns in weights}
        self._places = {} if inputs is None else {_bytes(row): place for place, row in enumerate(inputs)}
        self._width = None if inputs is None else inputs.shape[1]
        self._rows: set[int] = set()
        self.flops = 0
        self.gradient_rows: list[int] = []
        self.collectives: list[dict[str, Any]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace == "c10d":
            self._note_collective(func, args)
        elif counted := flop_registry.get(func._overloadpacket):
            self.flops += int(_safely(counted, args, kwargs or {}, result))
            self._note_product(args, result)
        return result

    def facts(self) -> dict[str, Any]:
        """What was counted, as JSON values."""
        return {
            "flops": self.flops,
            "gradient_rows": self.gradient_rows[:_MOST],
            "rows": sorted(self._rows)[:_MOST],
            "collectives": self.collectives[:_MOST],
        }

    def _note_product(self, args: Any, result: Any) -> None:
        factors = [value for value in args if isinstance(value, torch.Tensor)]
        is_product = isinstance(result, torch.Tensor) and len(factors) >= 2
        if is_product and tuple(result.shape[-2:]) in self._weights:
            self.gradient_rows.append(int(factors[-1].shape[-2]))
            for factor in factors if self._places else ():
                self._note_rows(factor)

    def _note_rows(self, factor: torch.Tensor) -> None:
        """In a gradient's product the batch stands as it is or transposed."""
        for matrix in (factor, factor.mT):
            if matrix.shape[-1] == self._width:
                rows = matrix.reshape(-1, matrix.shape[-1])
                self._rows |= {self._places[key] for key in map(_bytes, rows) if key in self._places}

    def _note_collective(self, func: Any, args: Any) -> None:
        tensors = [value for value in _flat(args) if isinstance(value, torch.Tensor)]
        shape = list(tensors[0].shape) if tensors else []
        self.collectives.append({"name": func._overloadpacket.__name__.strip("_"), "shape": shape})


class TakenOut(TorchFunctionMode):
    """Counts the numbers that leave torch as arrays or lists while it is entered: what is computed with those
    is seen by no recorder."""

    _WAYS = (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.tolist, torch.Tensor.__dlpack__)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in self._WAYS and args and isinstance(args[0], torch.Tensor):
            self.count += args[0].numel()
        return func(*args, **(kwargs or {}))


def _bytes(row: torch.Tensor) -> bytes:
    return row.detach().cpu().numpy().tobytes()


def _safely(count: Callable[..., Any], args: Any, kwargs: dict[str, Any], result: Any) -> int:
    try:
        return int(count(*args, **kwargs, out_val=result))
    except (TypeError, ValueError, AssertionError):  # a call that torch's own formula does not know
        return 0


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [item for part in value for item in _flat(part)]
    return [value]
