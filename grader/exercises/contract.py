"""The words in which a lab describes its exercises to the engine.

A lab is a module of this package with one constant, ``LAB``. The engine (intake, run, judge, report)
knows nothing of a lab but what stands in these three classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType

    import torch


@dataclass(frozen=True)
class Case:
    """One configuration of one exercise: what a rank is told, and nothing of what is expected of it.

    ``sizes`` are module-level constants of the student's file whose value is replaced before the file
    is executed (``{"input_dim": 48}``); ``arguments`` are further keyword arguments of the entry
    function (``{"accumulation_steps": 3}``).

    Three fields belong to cases of withheld data. ``whole_ranks`` get all of it: rank 0, for submissions that
    send it on from there. ``rows`` says which rows of the batch each rank owns, in place of the r-th slice.
    With ``noise``, what a rank does not own is wrong numbers instead of NaN: for submissions that look
    whether their data is finite, or multiply by zero what they leave out.
    """

    exercise: str
    check: str
    seed: int
    world_size: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    arguments: Mapping[str, int] = field(default_factory=dict)
    whole_ranks: tuple[int, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    noise: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "sizes": dict(self.sizes), "arguments": dict(self.arguments)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        return cls(**data)


class WrongReturn(TypeError):
    """The student's function returned something of another structure than the exercise asks for.

    The message is a sentence for the student.
    """


_Values = dict[str, "torch.Tensor"]


@dataclass(frozen=True)
class Probe:
    """One way of asking an exercise: what is called, and what should come back.

    ``drive(student, case, device)`` runs in every rank, inside the sandbox: it calls the student's code
    and returns what came back, by name. Raises `WrongReturn` when it has another structure.

    ``expect(reference, case, rank)`` runs in the trusted process: the same names, as the single-device
    baseline has them. ``reference`` is the reference solution, loaded with the case's sizes and world size.
    ``initial(reference, case, rank)`` gives the values before the update, for the names that have one:
    a baseline that does not move would prove nothing.

    ``entries`` are the names that the student's file must define for it.
    """

    entries: tuple[str, ...]
    drive: Callable[[ModuleType, Case, str], dict[str, object]] | None
    expect: Callable[[ModuleType, Case, int], _Values]
    initial: Callable[[ModuleType, Case, int], _Values]


@dataclass(frozen=True)
class Theory:
    """``flops`` of matrix products, and ``bytes`` of the tensors that go through the process group, counted
    once for each operation as the rank's own tensor."""

    flops: int
    bytes: int


@dataclass(frozen=True)
class Mistake:
    """A well-known wrong answer: the values that a rank returns who makes it.

    ``values(reference, case, rank)`` runs in the trusted process and has the names of the exercise's
    ``expect``. ``code`` is a finding's; ``message`` tells the student what it means and where to look.
    """

    code: str
    message: str
    values: Callable[[ModuleType, Case, int], _Values]


@dataclass(frozen=True)
class GivenData:
    """How a lab replaces the data that a file draws for itself by data that it is given.

    ``draw(case, generator)`` makes all of it, by name, in the trusted process. ``provide(utils, data, case)``
    is a context in which code that draws its data in the lab's ways gets ``data`` instead; it yields the
    ``utils`` module to load that code with. It serves the reference, with all of the data, and a rank,
    with what an exercise's ``share`` leaves of it.
    """

    draw: Callable[[Case, torch.Generator], _Values]
    provide: Callable[[ModuleType, _Values, Case], AbstractContextManager[ModuleType]]


@dataclass(frozen=True)
class Printed:
    """The comparison of an exercise's result with the baseline, as the handout's driver prints it by
    `compare_tensors`: its ``prefix``, the ``ranks`` that print it ("all" or "first"), and what it should say
    (``match``). Exercises of one prefix are printed in the lab's order. For who reads a log that was handed
    in: nothing printed decides anything."""

    prefix: str = ""
    ranks: str = "all"
    match: bool = True


@dataclass(frozen=True)
class Exercise:
    """One graded part of a lab.

    Its own ``entries``, ``drive``, ``expect`` and ``initial`` are those of the `Probe` by which most checks
    ask; ``probes`` holds those of the checks that ask in another way. ``mistakes`` are compared with what
    came back wrong.

    ``prepare(student, case, device)`` leaves in the student's module what the handout's driver has left there
    by the time that it runs this part. It is no part of the work.

    ``ranks_asked`` is "all", or "first" where the handout runs the part on rank 0 only. A ``whole_file``
    exercise is run as ``torchrun`` would run the file; it has no ``drive``, and its artifact holds both
    operands of every ``compare_tensors`` call.

    ``share(data, case, rank)`` is what this rank needs of the data for its own part of the work: the same
    names, NaN where other ranks are the owners. ``most_gradient_rows(case)`` is over how many rows of the
    batch a rank may compute one gradient of a whole weight: those of its slice, or of a micro-batch, and
    none where it holds a shard of the weight. ``rows_to_cut(case)`` is how many rows of the batch the
    ranks may cut up as they like, in equal parts; ``share`` then goes by the case's ``rows``.

    ``theory(case, rank)`` is what a rank has to do by the strategy that the exercise is about, for people to
    compare with what it did.

    ``arguments`` are the keyword arguments that a case may set, with the handout's defaults
    (``{"accumulation_steps": 4}``). ``printed`` is what the handout's driver prints of it, if anything.
    """

    name: str
    title: str
    entries: tuple[str, ...]
    expect: Callable[[ModuleType, Case, int], _Values]
    initial: Callable[[ModuleType, Case, int], _Values]
    drive: Callable[[ModuleType, Case, str], dict[str, object]] | None = None
    ranks_asked: str = "all"
    arguments: Mapping[str, int] = field(default_factory=dict)
    probes: Mapping[str, Probe] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    prepare: Callable[[ModuleType, Case, str], None] | None = None
    share: Callable[[_Values, Case, int], _Values] | None = None
    most_gradient_rows: Callable[[Case], int] | None = None
    rows_to_cut: Callable[[Case], int] | None = None
    theory: Callable[[Case, int], Theory] | None = None
    printed: Printed | None = None

    @property
    def whole_file(self) -> bool:
        return self.drive is None

    def probe(self, check: str) -> Probe:
        """How ``check`` is asked of this exercise."""
        return self.probes.get(check) or Probe(self.entries, self.drive, self.expect, self.initial)


@dataclass(frozen=True)
class Lab:
    """The exercises of one hand-in file, in the order in which they are reported.

    ``sizes`` are the handout's values of the constants that a case may replace. ``last_line`` is what each
    rank prints at the end of the handout's driver, behind ``[Rank r]``.
    """

    name: str
    exercises: tuple[Exercise, ...]
    sizes: Mapping[str, int]
    seed: int
    given_data: GivenData | None = None
    last_line: str = ""

    @property
    def file(self) -> str:
        """The file that students hand in."""
        return f"{self.name}.py"

    def __getitem__(self, name: str) -> Exercise:
        return next(exercise for exercise in self.exercises if exercise.name == name)
