"""What one case changes in the process is gone before the next."""

from __future__ import annotations

import builtins
import importlib
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.distributed as dist

from grader.run.clean_slate import CleanSlate


@pytest.fixture
def slate(tmp_path: Path) -> Iterator[CleanSlate]:
    made = CleanSlate(tmp_path)
    yield made
    made.wipe()


def _set_a_random_state() -> None:
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


CHANGES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "random numbers": (
        _set_a_random_state,
        lambda: (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()),
    ),
    "dtype": (lambda: torch.set_default_dtype(torch.float64), torch.get_default_dtype),
    "device": (lambda: torch.set_default_device("meta"), torch.get_default_device),
    "gradients": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "anomalies": (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "folder": (lambda: os.chdir("/"), os.getcwd),
    "environment": (lambda: os.environ.update(HOME="", RANK="7"), _environment),
    "search path": (lambda: sys.path.insert(0, "/nowhere"), lambda: list(sys.path)),
    "finders of modules": (lambda: sys.meta_path.insert(0, object()), lambda: list(sys.meta_path)),
    "a collective": (lambda: setattr(dist, "all_reduce", print), lambda: dist.all_reduce),
    "a function": (lambda: setattr(torch, "einsum", print), lambda: torch.einsum),
    "a method": (lambda: setattr(torch.Tensor, "backward", print), lambda: torch.Tensor.backward),
    "an inherited method": (lambda: setattr(torch.Tensor, "add_", print), lambda: torch.Tensor.add_),
    "an optimizer": (lambda: setattr(torch.optim, "SGD", print), lambda: torch.optim.SGD),
    "a removed function": (lambda: delattr(torch, "matmul"), lambda: torch.matmul),
    "a built-in": (lambda: setattr(builtins, "len", print), lambda: builtins.len),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_case_changed_is_put_back(slate: CleanSlate, what: str) -> None:
    change, look = CHANGES[what]
    before = look()
    change()
    slate.wipe()
    assert look() == before


def test_modules_of_the_submission_are_imported_anew(slate: CleanSlate, tmp_path: Path) -> None:
    (tmp_path / "their_helper.py").write_text("calls = []\n")
    sys.path.append(str(tmp_path))
    importlib.import_module("their_helper").calls.append(1)
    slate.wipe()
    assert "their_helper" not in sys.modules
    assert "json" in sys.modules


def test_a_module_that_cannot_say_where_it_is_from_harms_nothing(slate: CleanSlate, tmp_path: Path) -> None:
    strange, theirs = ModuleType("strange"), ModuleType("theirs")
    strange.__path__ = 5  # type: ignore[assignment]
    theirs.__path__ = [str(tmp_path / "theirs")]
    sys.modules.update(strange=strange, theirs=theirs)
    try:
        slate.wipe()
        assert sys.modules["strange"] is strange
        assert "theirs" not in sys.modules
    finally:
        del sys.modules["strange"]
