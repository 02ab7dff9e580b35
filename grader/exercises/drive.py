"""A student's file inside a rank: loaded for one case, and driven."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import torch

from grader.exercises import loader, staff
from grader.exercises.contract import Case, Exercise, Lab
from grader.exercises.cuda_stand_in import CudaStandIn
from grader.exercises.own_modules import OwnModules
from grader.exercises.work import TakenOut, WorkRecorder


class Student:
    """The submission's file, ready for one case. Use as a context manager.

    ``device`` is what the entry functions are given. On "cpu", code written for GPUs runs unchanged
    (see `cuda_stand_in`). With ``data``, the file gets that in place of what it draws (see
    `contract.GivenData`), and the work that it does is measured.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        staff_utils: Path,
        case: Case,
        device: str,
        data: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        self._lab, self._path, self._case, self._device = lab, folder / lab.file, case, device
        self._entries = tuple(entry for exercise in lab.exercises for entry in exercise.entries)
        self._data = data
        self._contexts = ExitStack()
        self._staff = staff.load_staff_utils(staff_utils)
        self._modules = OwnModules(folder, self._sizes(), self._staff)
        self._modules.install()
        self._utils = staff.utils_for(folder, self._staff, self._modules)
        self._module: ModuleType | None = None
        self.work: dict[str, Any] | None = None

    def __enter__(self) -> Student:
        torch.backends.cuda.matmul.allow_tf32 = False
        if self._device == "cpu":
            self._contexts.enter_context(CudaStandIn())
        if self._data is not None and self._lab.given_data is not None:
            data = _made_finite(self._data) if self._case.noise else dict(self._data)
            provided = self._lab.given_data.provide(self._utils, data, self._case)
            self._utils = self._contexts.enter_context(provided)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._contexts.close()

    def missing(self, entries: tuple[str, ...]) -> tuple[str, ...]:
        """The names among ``entries`` that the file does not define. Raises what loading it raises."""
        return tuple(name for name in entries if not callable(getattr(self._load(), name, None)))

    def drive(self, exercise: Exercise, rank: int) -> dict[str, object]:
        """Call the exercise's code and return what came back, by name.

        Where the handout runs a part on rank 0 only, the other ranks return nothing.
        """
        drive = exercise.probe(self._case.check).drive
        assert drive is not None
        if exercise.ranks_asked == "first" and rank > 0:
            return {}
        module = self._load()
        if exercise.prepare is not None:
            exercise.prepare(module, self._case, self._device)
        if self._data is None:
            return drive(module, self._case, self._device)
        # Only where every rank has all of the batch can it show which rows it takes of it.
        all_whole = len(self._case.whole_ranks) == self._case.world_size
        recorder = WorkRecorder(_weight_shapes(self._data), self._data["inputs"] if all_whole else None)
        with TakenOut() as taken, recorder:
            returned = drive(module, self._case, self._device)
        self.work = {**recorder.facts(), "taken_out": taken.count}
        return returned

    def run_whole_file(self, comparisons: list[dict[str, Any]]) -> dict[str, object]:
        """Run the file as ``torchrun`` would; returns the operands of its comparisons, by name."""
        operands: dict[str, object] = {}
        self._utils.__dict__["compare_tensors"] = staff.recorded(
            self._staff.compare_tensors, comparisons, operands, str(self._path)
        )
        loader.run_whole_file(self._path, self._utils, self._sizes(), self._modules.renamed)
        return operands

    def _load(self) -> ModuleType:
        if self._module is None:
            sys.argv = [str(self._path)]  # a file may parse its arguments
            self._module = loader.load_functions(
                self._path,
                self._utils,
                self._sizes(),
                rank=0,
                world_size=1,
                initialise=True,
                entries=self._entries,
                renamed=self._modules.renamed,
            )
        return self._module

    def _sizes(self) -> dict[str, int]:
        return {"seed": self._case.seed, **self._case.sizes}


def _made_finite(data: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Random numbers in place of NaN: as wrong, but finite. Each rank draws others."""
    generator = torch.Generator()
    generator.seed()
    return {
        name: torch.where(value.isnan(), torch.randn(value.shape, generator=generator), value)
        for name, value in data.items()
    }


def _weight_shapes(data: Mapping[str, torch.Tensor]) -> frozenset[tuple[int, int]]:
    """The shapes of the weights that this rank has something of (the batch's tensors are no weights)."""
    weights = [value for name, value in data.items() if name == "weight" or name.startswith("layer.")]
    return frozenset((w.shape[0], w.shape[1]) for w in weights if not bool(w.isnan().all()))
