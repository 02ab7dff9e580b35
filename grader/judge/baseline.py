"""The trusted answer: what the reference solution gives on one device for a case."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Protocol

import torch

from grader.exercises.contract import Case, Exercise, Lab, Mistake
from grader.exercises.loader import load_functions
from grader.exercises.work import WorkRecorder
from grader.judge.artifacts import Tensors
from grader.judge.compare import CompareFunction
from grader.judge.given import Given

#: How many tolerances the baseline's own update must be, or an unchanged weight could pass for right.
LEAST_UPDATE = 100.0


class Loader(Protocol):
    """`grader.exercises.loader.load_functions`: a file as a module, without its driver."""

    def __call__(
        self,
        path: Path,
        utils: ModuleType,
        sizes: Mapping[str, int],
        rank: int,
        world_size: int,
        initialise: bool,
        entries: Iterable[str] = ...,
    ) -> ModuleType: ...


class BaselineError(Exception):
    """The baseline cannot be computed, or proves nothing. The grader's fault, never the student's."""


@dataclass(frozen=True)
class Answers:
    """The baseline of one case, for each rank that is asked.

    ``expected`` and ``initial`` are by rank, then by name. ``arguments`` are what the student's entry
    was called with: the case's, and for the rest the exercise's defaults. ``drawn``, where the ranks were
    given their data, is what the data that the seed stands for would have led to.
    """

    expected: Mapping[int, Tensors]
    initial: Mapping[int, Tensors]
    arguments: Mapping[str, int] = field(default_factory=dict)
    drawn: Mapping[int, Tensors] = field(default_factory=dict)


class Baseline:
    """The reference solution of a lab and the staff's utilities, loaded once; the answers are kept.

    ``solution`` and ``staff_utils`` are paths to trusted files. May be shared by threads.
    Raises `BaselineError` when the utilities cannot be loaded.
    """

    def __init__(
        self,
        lab: Lab,
        solution: Path,
        staff_utils: Path,
        given: Given | None = None,
        load: Loader = load_functions,
    ) -> None:
        self._lab, self._given = lab, given
        self._entries = tuple(entry for exercise in lab.exercises for entry in exercise.entries)
        self._solution = solution
        self._load = load
        self._utils = load_staff_utils(staff_utils)
        self._modules: dict[object, ModuleType] = {}
        self._flops: dict[object, int] = {}
        self._tensors: dict[object, dict[str, torch.Tensor]] = {}
        self._lock = threading.RLock()

    @property
    def compare(self) -> CompareFunction:
        """The staff's ``compare_tensors``, which prints nothing here."""
        function: CompareFunction = self._utils.compare_tensors
        return function

    def expected(self, exercise: Exercise, case: Case, rank: int) -> Tensors:
        """What a right submission returns on this rank, by name. Raises `BaselineError`."""
        return self._ask("expected", exercise.probe(case.check).expect, exercise, case, rank)

    def initial(self, exercise: Exercise, case: Case, rank: int) -> Tensors:
        """The values before the update, for the names that have one. Raises `BaselineError`."""
        return self._ask("initial", exercise.probe(case.check).initial, exercise, case, rank)

    def answers(self, exercise: Exercise, case: Case, tolerance: float) -> Answers:
        """All that is expected of the ranks asked. Raises `BaselineError`, also when it proves nothing."""
        ranks = asked_ranks(exercise, case)
        expected = {rank: self.expected(exercise, case, rank) for rank in ranks}
        initial = {rank: self.initial(exercise, case, rank) for rank in ranks}
        for rank in ranks:
            require_update(expected[rank], initial[rank], tolerance)
        drawn: dict[int, Tensors] = {}
        if self._given is not None and self._given.to(case):
            usual = replace(case, check="baseline", whole_ranks=(), rows=())
            drawn = {rank: self.expected(exercise, usual, rank) for rank in ranks}
        return Answers(expected, initial, {**exercise.arguments, **case.arguments}, drawn)

    def mistaken(self, exercise: Exercise, case: Case, mistake: Mistake, rank: int) -> Tensors:
        """What this rank returns if the student made one of the exercise's known mistakes; computed when it
        is first asked for. Nothing where the mistake does not apply or cannot be told from another.

        Raises `BaselineError`.
        """
        kind = f"mistake {exercise.mistakes.index(mistake)}"
        complete = replace(case, arguments={**exercise.arguments, **case.arguments})
        return self._ask(kind, mistake.values, exercise, complete, rank)

    def whole_flops(self, exercise: Exercise, case: Case) -> int:
        """The FLOPs of the single-device step in matrix products. Raises `BaselineError`."""
        key = (exercise.name, case.check, case.world_size, tuple(sorted(case.sizes.items())))
        with self._lock, _deterministic_cpu(), self._reference(case) as reference:
            if key not in self._flops:
                with WorkRecorder(frozenset()) as recorder:
                    exercise.probe(case.check).expect(reference, case, 0)
                self._flops[key] = int(recorder.flops)
            return self._flops[key]

    @contextmanager
    def _reference(self, case: Case) -> Iterator[ModuleType]:
        """The reference as it is for this case: on the data that its ranks are given, if they are."""
        if self._given is None or self._lab.given_data is None or not self._given.to(case):
            yield self._module(case)
            return
        key = ("given", case.exercise, tuple(sorted(case.sizes.items())), case.world_size)
        with self._lab.given_data.provide(self._utils, self._given.whole(case), case) as utils:
            yield self._loaded(key, utils, case)

    def _module(self, case: Case) -> ModuleType:
        return self._loaded((tuple(sorted(case.sizes.items())), case.world_size), self._utils, case)

    def _loaded(self, key: object, utils: ModuleType, case: Case) -> ModuleType:
        with self._lock:
            if key not in self._modules:
                self._modules[key] = self._load(
                    self._solution, utils, case.sizes, 0, case.world_size, False, entries=self._entries
                )
            return self._modules[key]

    def _ask(
        self,
        kind: str,
        function: Callable[[ModuleType, Case, int], dict[str, torch.Tensor]],
        exercise: Exercise,
        case: Case,
        rank: int,
    ) -> dict[str, torch.Tensor]:
        sizes, arguments = tuple(sorted(case.sizes.items())), tuple(sorted(case.arguments.items()))
        key = (kind, exercise.name, case.check, case.seed, case.world_size, sizes, arguments, rank)
        with self._lock:
            if key not in self._tensors:
                try:
                    with _deterministic_cpu(), self._reference(case) as reference:
                        found = function(reference, case, rank)
                        self._tensors[key] = {name: _plain(name, value) for name, value in found.items()}
                except BaselineError:
                    raise
                except Exception as error:
                    raise BaselineError(f"the baseline of {exercise.name} failed: {error!r}") from error
            return self._tensors[key]


def asked_ranks(exercise: Exercise, case: Case) -> range:
    """The ranks whose values are compared."""
    return range(1 if exercise.ranks_asked == "first" else case.world_size)


def require_update(expected: Tensors, initial: Tensors, tolerance: float) -> None:
    """Raise `BaselineError` unless every name moves by at least `LEAST_UPDATE` tolerances somewhere."""
    if not expected:
        raise BaselineError("the baseline expects nothing, which anything would satisfy")
    for name, before in initial.items():
        if name not in expected or expected[name].shape != before.shape:
            raise BaselineError(f"the baseline's initial {name} has nothing to be compared with")
        moved = float((expected[name].double() - before.double()).abs().max()) if before.numel() else 0.0
        if not moved >= LEAST_UPDATE * tolerance:
            raise BaselineError(
                f"the baseline's own update of {name} is {moved:.3g} at most, too small for a tolerance of "
                f"{tolerance:.3g} to tell right from wrong"
            )


def load_staff_utils(path: Path) -> ModuleType:
    """The staff's utilities as a module under a private name, whose ``print`` prints nothing.

    The name is replaced in that module alone: redirecting ``sys.stdout`` would also swallow what
    another thread of the grader prints. Raises `BaselineError` when it cannot be loaded.
    """
    spec = importlib.util.spec_from_file_location("_grader_staff_utils", path)
    if spec is None or spec.loader is None:
        raise BaselineError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    module.__dict__["print"] = _print_nothing
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BaselineError(f"{path} cannot be loaded: {error!r}") from error
    return module


def _print_nothing(*_: object, **__: object) -> None:
    """Stands in for ``print``."""


def _plain(name: str, value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise BaselineError(f"the baseline's {name} is not a tensor")
    tensor = value.detach().to("cpu", copy=True).contiguous()
    if not bool(torch.isfinite(tensor).all()):
        raise BaselineError(f"the baseline's {name} is not finite")
    return tensor.as_subclass(torch.Tensor)


@contextmanager
def _deterministic_cpu() -> Iterator[None]:
    """One thread, float32, and the caller's random state left as it was."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
