"""A student's file inside a rank: loaded for one case, and driven."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.exercises import loader, staff
from grader.exercises.contract import Case, Exercise, Lab
from grader.exercises.cuda_stand_in import CudaStandIn


class Student:
    """The submission's file, ready for one case.

    ``device`` is what the entry functions are given. On "cpu", code written for GPUs runs unchanged
    (see `cuda_stand_in`).
    """

    def __init__(self, lab: Lab, folder: Path, staff_utils: Path, case: Case, device: str) -> None:
        self._path, self._case, self._device = folder / lab.file, case, device
        self._entries = tuple(entry for exercise in lab.exercises for entry in exercise.entries)
        self._staff = staff.load_staff_utils(staff_utils)
        self._module: ModuleType | None = None
        self._on_device: AbstractContextManager[Any] = CudaStandIn() if device == "cpu" else nullcontext()
        torch.backends.cuda.matmul.allow_tf32 = False

    def _load(self) -> ModuleType:
        if self._module is None:
            utils = staff.utils_for(self._path.parent, self._staff)
            self._module = loader.load_functions(
                self._path,
                utils,
                {"seed": self._case.seed, **self._case.sizes},
                rank=0,
                world_size=1,
                initialise=True,
                entries=self._entries,
            )
        return self._module

    def missing(self, entries: tuple[str, ...]) -> tuple[str, ...]:
        """The names among ``entries`` that the file does not define. Raises what loading it raises."""
        with self._on_device:
            module = self._load()
        return tuple(name for name in entries if not callable(getattr(module, name, None)))

    def drive(self, exercise: Exercise, rank: int) -> dict[str, object]:
        """Call the exercise's code and return what came back, by name.

        Where the handout runs a part on rank 0 only, the other ranks return nothing.
        """
        drive = exercise.probe(self._case.check).drive
        assert drive is not None
        if exercise.ranks_asked == "first" and rank > 0:
            return {}
        with self._on_device:
            return drive(self._load(), self._case, self._device)

    def run_whole_file(self, comparisons: list[dict[str, Any]]) -> dict[str, object]:
        """Run the file as ``torchrun`` would; returns the operands of its comparisons, by name."""
        operands: dict[str, object] = {}
        utils = staff.utils_for(self._path.parent, self._staff)
        utils.__dict__["compare_tensors"] = staff.recorded(self._staff.compare_tensors, comparisons, operands)
        with self._on_device:
            loader.run_whole_file(self._path, utils, {"seed": self._case.seed, **self._case.sizes})
        return operands
