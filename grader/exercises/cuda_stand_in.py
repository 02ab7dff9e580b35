"""Lets code written for GPUs run unchanged on the CPU, and faithfully.

Every device that names ``cuda`` becomes the CPU, and a move to or from a device copies, as it does on a
GPU: otherwise ``nn.Parameter(weight)`` followed by ``.to(device)`` would share its memory with ``weight``,
and the optimizer step of a right submission would change its initial weight.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

_CPU = torch.device("cpu")


def _is_cuda(value: object) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    if isinstance(value, int) and not isinstance(value, bool):
        return True  # the number of a GPU: `tensor.to(local_rank)`
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _names_device(value: object) -> bool:
    return (
        _is_cuda(value)
        or isinstance(value, torch.device)
        or (isinstance(value, str) and value.split(":")[0] == "cpu")
    )


class _OnTheCpu(TorchFunctionMode):
    """Rewrites the device arguments of torch's functions."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0].clone()
        if func is torch.Tensor.cpu:
            return func(*args, **kwargs).clone()
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch._C._nn._parse_to:  # of Module.to, which then moves its tensors one by one
            args = tuple(_CPU if _is_cuda(value) else value for value in args)
        if func is torch.Tensor.to:
            return _moved(func, args, kwargs)
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = _CPU
        return func(*args, **kwargs)


def _moved(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``Tensor.to``: with a device it copies, whichever device that is."""
    tensor, *rest = args
    to_a_device = "device" in kwargs or any(_names_device(value) for value in rest)
    rest = [_CPU if _is_cuda(value) else value for value in rest]
    if _is_cuda(kwargs.get("device")):
        kwargs["device"] = _CPU
    moved = func(tensor, *rest, **kwargs)
    shares = moved is tensor or moved.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return moved.clone() if to_a_device and shares else moved


class CudaStandIn:
    """A context in which ``cuda`` means the CPU.

    Besides tensors' devices it answers the calls on ``torch.cuda`` that a training script makes, and
    turns an NCCL process group into a gloo one.
    """

    def __init__(self) -> None:
        self._mode = _OnTheCpu()
        self._originals: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> CudaStandIn:
        for owner, name, replacement in _replacements(self._mode):
            self._originals.append((owner, name, getattr(owner, name)))
            setattr(owner, name, replacement)
        self._mode.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mode.__exit__(kind, value, trace)  # type: ignore[no-untyped-call]
        while self._originals:
            setattr(*self._originals.pop())


def _nothing() -> Callable[..., None]:
    """In place of a call that only means something to a GPU. Each is a function of its own: torch's
    compiler keeps a table of these functions, and refuses one with two names."""
    return lambda *_, **__: None


def _replacements(mode: TorchFunctionMode) -> list[tuple[Any, str, Any]]:
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    gpus = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: gpus,
        "current_device": lambda: local_rank,
        "get_device_name": lambda *_: "CPU in place of a GPU",
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "get_rng_state": lambda *_: torch.get_rng_state(),
    }
    silent = "init set_device synchronize empty_cache reset_peak_memory_stats"
    silent += " manual_seed manual_seed_all set_rng_state"
    on_cuda = [(torch.cuda, name, answer) for name, answer in answers.items()]
    on_cuda += [(torch.cuda, name, _nothing()) for name in silent.split()]
    return [
        *on_cuda,
        (dist, "init_process_group", _gloo(dist.init_process_group)),
        (dist, "new_group", _new_group(dist.new_group)),
        (dist, "barrier", _barrier(dist.barrier)),
        (BackwardCFunction, "apply", _with_mode(BackwardCFunction.apply, mode)),
        (torch, "set_default_device", _default_device(torch.set_default_device)),
    ]


def _gloo(init_process_group: Callable[..., Any]) -> Callable[..., Any]:
    def init(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        if dist.is_initialized():
            return  # the grader's own set-up came first
        kwargs.pop("device_id", None)
        init_process_group("gloo" if backend is None or "nccl" in backend else backend, *args, **kwargs)

    return init


def _new_group(new_group: Callable[..., Any]) -> Callable[..., Any]:
    def new(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        if "nccl" in str(kwargs.get("backend")):
            kwargs["backend"] = "gloo"
        return new_group(*args, **kwargs)

    return new


def _barrier(barrier: Callable[..., Any]) -> Callable[..., Any]:
    def wait(*args: Any, device_ids: object = None, **kwargs: Any) -> Any:  # gloo knows no devices
        return barrier(*args, **kwargs)

    return wait


def _with_mode(apply: Callable[..., Any], mode: TorchFunctionMode) -> Callable[..., Any]:
    """For the student's own ``backward``: ``loss.backward()`` is torch's, and in it the mode rests."""

    def backward(*args: Any) -> Any:
        with mode:
            return apply(*args)

    return backward


def _default_device(set_default_device: Callable[..., Any]) -> Callable[..., Any]:
    return lambda device: set_default_device(_CPU if _is_cuda(device) else device)
