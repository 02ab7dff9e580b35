"""The ``utils`` module that a student's file imports: ours, over whatever else theirs defines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch

from grader.exercises.own_modules import OwnModules


def load_staff_utils(path: Path) -> ModuleType:
    """Execute the staff's utils.py under a name of its own. Raises OSError, SyntaxError."""
    module = ModuleType("staff_utils")
    module.__file__ = str(path)
    sys.modules["staff_utils"] = module  # dataclasses look their module up
    exec(_code_of(path), module.__dict__)
    return module


@lru_cache(maxsize=1)
def _code_of(path: Path) -> CodeType:
    """Compiled once for all cases of a job; each case gets a module of its own."""
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


def utils_for(student_folder: Path, staff: ModuleType, modules: OwnModules) -> ModuleType:
    """A module ``utils`` with the staff's functions, and beside them the further names of the student's
    own utils.py, executed as one of their ``modules``: a helper or a size that they keep there must go on
    working. A utils.py that fails is ignored."""
    utils = ModuleType("utils")
    own = student_folder / "utils.py"
    if own.is_file():
        utils.__file__ = str(own)
        try:
            modules.execute(own, utils)
        except Exception as error:
            print(f"utils.py of the submission is ignored, it failed: {type(error).__name__}: {error}")
    utils.__dict__.update({name: value for name, value in vars(staff).items() if not name.startswith("_")})
    return utils


def recorded(
    compare_tensors: Callable[..., Any],
    comparisons: list[dict[str, Any]],
    operands: dict[str, object],
    file: str,
) -> Callable[..., Any]:
    """The staff's ``compare_tensors``, keeping a copy of both operands of every call.

    Call ``k`` adds ``{"prefix", "line", "itself"}`` to ``comparisons`` and ``comparison.<k>.first`` and
    ``.second`` to ``operands``. The line is the one of ``file`` from which it came, 0 if there is none: a
    module beside that file may have made the call. ``itself`` says that both are the same tensor.
    """

    def compare_and_keep(tensor1: object, tensor2: object, tol: float = 1e-5, prefix: object = "") -> Any:
        number = len(comparisons)
        comparisons.append(
            {"prefix": str(prefix)[:200], "line": _line_of(file), "itself": _are_one(tensor1, tensor2)}
        )
        operands[f"comparison.{number}.first"] = _copied(tensor1)
        operands[f"comparison.{number}.second"] = _copied(tensor2)
        return compare_tensors(tensor1, tensor2, tol=tol, prefix=prefix)

    return compare_and_keep


def _are_one(first: object, second: object) -> bool:
    """Whether both lie in the same memory, so that comparing them says nothing."""
    if not (isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)):
        return first is second
    return first is second or (first.numel() > 0 and first.data_ptr() == second.data_ptr())


def _line_of(file: str) -> int:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return frame.f_lineno if frame else 0


def _copied(value: object) -> object:
    """A later in-place update must not change what was compared."""
    if isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, torch.nn.Parameter):
        return value.detach().clone()
    return value
