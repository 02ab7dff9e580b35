"""Puts back, between two cases, what a student's code may have changed in the process for all that follows.

Cases share a process because starting ranks is what takes time. What an exercise switches on, seeds or
replaces must not decide how the next one goes, for the better or the worse.
"""

from __future__ import annotations

import builtins
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed
import torch.nn.functional

_State = tuple[Callable[[], Any], Callable[[Any], object]]
_GENERATORS: tuple[_State, ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_rng_state, torch.set_rng_state),
)
_SETTINGS: tuple[_State, ...] = (
    (os.getcwd, os.chdir),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
)
# What students replace attributes of, by accident or to patch something.
_NAMESPACES: tuple[Any, ...] = (
    builtins,
    torch,
    torch.Tensor,
    torch.autograd,
    torch.autograd.Function,
    torch.distributed,
    torch.nn,
    torch.nn.Linear,
    torch.nn.Module,
    torch.nn.Parameter,
    torch.nn.functional,
    torch.optim,
    torch.optim.Optimizer,
    torch.optim.SGD,
)


class CleanSlate:
    """The process as it is when this is made; `wipe` goes back to it.

    Modules that came from ``folder``, the submission's, are forgotten, so that each case imports them anew.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}{os.sep}"
        self._generators = [(put, get()) for get, put in _GENERATORS]
        self._settings = [(get, put, get()) for get, put in _SETTINGS]
        self._namespaces = [(namespace, dict(vars(namespace))) for namespace in _NAMESPACES]
        self._default_device = torch.get_default_device()
        self._environment = dict(os.environ)
        self._search_path, self._arguments = list(sys.path), list(sys.argv)
        self._finders = list(sys.meta_path)
        self._modules = dict(sys.modules)

    def wipe(self) -> None:
        """Put everything back."""
        for namespace, attributes in self._namespaces:
            _restore(namespace, attributes)
        for put, state in self._generators:
            put(state)
        for get, put, value in self._settings:
            if get() != value:  # some import a lot when they are called
                put(value)
        if torch.get_default_device() != self._default_device:
            torch.set_default_device(None)
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        sys.path[:], sys.argv[:] = self._search_path, self._arguments
        sys.meta_path[:] = self._finders
        for name, module in list(sys.modules.items()):
            if self._modules.get(name) is not module and self._is_the_submission_s(module):
                del sys.modules[name]

    def _is_the_submission_s(self, module: ModuleType) -> bool:
        places = [vars(module).get("__file__")]
        with suppress(Exception):  # a student may have put anything there
            places += vars(module).get("__path__") or []  # a folder without an __init__.py has no file
        return any(str(place).startswith(self._folder) for place in places)


def _restore(namespace: Any, attributes: dict[str, Any]) -> None:
    now = dict(vars(namespace))
    for name, value in attributes.items():
        if now.get(name, attributes) is not value:
            setattr(namespace, name, value)
    # An addition to a class may hide what it inherits; one to a module may be a late import.
    if isinstance(namespace, type):
        for name in now.keys() - attributes.keys():
            delattr(namespace, name)
