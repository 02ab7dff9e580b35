"""Keeps ``torch._dynamo`` out until somebody really compiles.

The first ``optimizer.step()`` of a process imports the whole compiler (two seconds, as long as torch
itself) only to call two functions that do nothing in eager mode. A module that answers to those names
stands in for it, and gives way to the real one at any other question.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

_NAME = "torch._dynamo"


class _NotYetImported(ModuleType):
    """Answers like ``torch._dynamo`` in a process that compiles nothing."""

    # init_process_group clears this cache when the module is present.
    trace_rules = SimpleNamespace(clear_lru_cache=lambda: None)

    @staticmethod
    def graph_break(msg: str = "") -> None:
        """Eager code has no graph to break."""

    @staticmethod
    def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **_: Any) -> Any:
        """Eager code is never traced, so a function is its own disabled form."""
        return fn if fn is not None else lambda function: function

    def __getattr__(self, name: str) -> Any:
        if name in ("__file__", "__wrapped__"):  # asked by inspect and linecache of every module
            raise AttributeError(name)
        return getattr(_import_the_real_one(self), name)


def _import_the_real_one(stand_in: ModuleType) -> ModuleType:
    if sys.modules.get(_NAME) is stand_in:
        del sys.modules[_NAME]
    module = importlib.import_module(_NAME)
    sys.modules["torch"]._dynamo = module  # type: ignore[attr-defined]
    return module


def postpone() -> None:
    """Put the stand-in where ``import torch._dynamo`` looks, unless the compiler is there already."""
    import torch

    if _NAME not in sys.modules:
        stand_in = _NotYetImported(_NAME)
        sys.modules[_NAME] = stand_in
        torch._dynamo = stand_in
