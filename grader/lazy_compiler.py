"""Keeps torch's compiler out until somebody really compiles.

Eager code asks the compiler's modules questions whose answers are plain there, and imports them for it: the
first ``optimizer.step()`` of a process all of ``torch._dynamo`` (two seconds, as long as torch itself), the
first ``backward(gradient)`` the symbolic shapes (a fifth of the memory that a rank is forked with). Modules
that answer to those names stand in for them, and give way to the real ones at any other question.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any


def _graph_break(msg: str = "") -> None:
    """Eager code has no graph to break."""


def _disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **_: Any) -> Any:
    """Eager code is never traced, so a function is its own disabled form."""
    return fn if fn is not None else lambda function: function


def _sym_eq(x: Any, y: Any) -> Any:
    """Whether two sizes are equal."""
    if all(type(size) is int for size in (*x, *y)):
        return tuple(x) == tuple(y)
    return importlib.import_module(_SHAPES).sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    """A condition that is known already is itself."""
    return a if type(a) is bool else importlib.import_module(_SHAPES).expect_true(a, skip)


class _Part(SimpleNamespace):
    """A module inside a stand-in: any question that it has no answer to brings the real one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.real), name)


_SHAPES = "torch.fx.experimental.symbolic_shapes"
_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "torch._dynamo": {
        "graph_break": _graph_break,
        "disable": _disable,
        # init_process_group clears this cache when the module is present.
        "trace_rules": _Part(real="torch._dynamo.trace_rules", clear_lru_cache=lambda: None),
        # DistributedDataParallel asks how it would be compiled; this is the default.
        "utils": _Part(real="torch._dynamo.utils", get_optimize_ddp_mode=lambda: "ddp_optimizer"),
    },
    _SHAPES: {"sym_eq": _sym_eq, "expect_true": _expect_true},
}

_ASKED_OF_EVERY_MODULE = ("__file__", "__wrapped__")  # by inspect and linecache


class _NotYetImported(ModuleType):
    """Answers like the module of its name in a process that compiles nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        vars(self).update(_ANSWERS[name])

    def __getattr__(self, name: str) -> Any:
        if name in _ASKED_OF_EVERY_MODULE or (name == "__path__" and self.__name__ == _SHAPES):
            raise AttributeError(name)
        return getattr(_import_the_real_one(self), name)


def _import_the_real_one(stand_in: ModuleType) -> ModuleType:
    name = stand_in.__name__
    if sys.modules.get(name) is stand_in:
        del sys.modules[name]
    return importlib.import_module(name)


def postpone() -> None:
    """Put the stand-ins where imports look, unless the compiler is there already."""
    import torch

    if "torch._dynamo" not in sys.modules:
        torch._dynamo = sys.modules["torch._dynamo"] = _NotYetImported("torch._dynamo")
    sys.modules.setdefault(_SHAPES, _NotYetImported(_SHAPES))
