"""Assignment 4: one training step, and the same step by five kinds of parallelism."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from grader.exercises import assignment4_mistakes as mistakes
from grader.exercises import assignment4_share, assignment4_theory
from grader.exercises.assignment4_layers import layer_probe
from grader.exercises.contract import (
    Case,
    Exercise,
    GivenData,
    Lab,
    Mistake,
    Printed,
    Probe,
    Theory,
    WrongReturn,
)

_Tensors = dict[str, torch.Tensor]


def _call(student: ModuleType, entry: str, case: Case, device: str) -> Any:
    """Call an entry with the case's seed and arguments: by name where it has the contract's names."""
    function: Callable[..., Any] = getattr(student, entry)
    arguments = {"seed": case.seed, "device": device, **case.arguments}
    parameters = inspect.signature(function).parameters.values()
    by_name = {parameter.name for parameter in parameters}
    if arguments.keys() <= by_name or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters
    ):
        return function(**arguments)
    return function(*arguments.values())


def _described(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _bind_baseline_globals(student: ModuleType, case: Case, device: str) -> None:
    """Bind ``initial_weight`` and ``updated_weight`` as the handout's driver does, for functions that
    read them: from the student's own ``single_step``, the first on rank 0 only.

    The driver broadcasts the second. Here each rank computes it, so that nothing can hang that the
    student did not write.
    """
    if not _reads_baseline_globals(student):
        return
    plain = Case(case.exercise, case.check, case.seed, case.world_size, case.sizes)
    initial, updated = _call(student, "single_step", plain, device)
    student.__dict__["updated_weight"] = updated
    if dist.get_rank() == 0:
        student.__dict__["initial_weight"] = initial


def _reads_baseline_globals(student: ModuleType) -> bool:
    names = {"initial_weight", "updated_weight"}
    codes = [value.__code__ for value in vars(student).values() if inspect.isfunction(value)]
    classes = [value for value in vars(student).values() if inspect.isclass(value)]
    codes += [
        method.__code__ for kind in classes for method in vars(kind).values() if inspect.isfunction(method)
    ]
    return any(names & (set(code.co_names) - set(code.co_varnames)) for code in codes)


def _drive_single_step(student: ModuleType, case: Case, device: str) -> dict[str, object]:
    result = _call(student, "single_step", case, device)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise WrongReturn(
            f"single_step must return (initial_weight, updated_weight); it returned {_described(result)}."
        )
    return {"initial_weight": result[0], "updated_weight": result[1]}


def _drive_weight(entry: str) -> Callable[[ModuleType, Case, str], dict[str, object]]:
    """A part that returns the full updated weight [input_dim, output_dim]."""

    def drive(student: ModuleType, case: Case, device: str) -> dict[str, object]:
        result = _call(student, entry, case, device)
        if not isinstance(result, torch.Tensor):
            raise WrongReturn(f"{entry} must return the updated weight; it returned {_described(result)}.")
        return {"updated_weight": result}

    return drive


def _drive_pipeline(student: ModuleType, case: Case, device: str) -> dict[str, object]:
    result = _call(student, "pipeline_parallel_single_step", case, device)
    num_layers = assignment4_share.num_layers(case)
    stage = assignment4_share.stage_of(case, dist.get_rank())
    if not isinstance(result, list | tuple) or len(result) != len(stage):
        raise WrongReturn(
            "pipeline_parallel_single_step must return the list of its own stage's updated weights, here "
            f"{len(stage)} of {num_layers} layers; it returned {_described(result)}."
        )
    return {f"layer.{layer}": weight for layer, weight in zip(stage, result, strict=True)}


def _plain_step(reference: ModuleType, case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    initial, updated = reference.single_step(seed=case.seed, device="cpu")
    return initial, updated


def _expect_single_step(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    initial, updated = _plain_step(reference, case)
    return {"initial_weight": initial, "updated_weight": updated}


def _expect_weight(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    return {"updated_weight": _plain_step(reference, case)[1]}


def _initial_weight(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    return {"updated_weight": _plain_step(reference, case)[0]}


def _expect_stage(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    layers = reference.deep_single_step(seed=case.seed, device="cpu")
    return {f"layer.{layer}": layers[layer] for layer in assignment4_share.stage_of(case, rank)}


def _initial_stage(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    layers = reference.create_layers(reference.num_layers, reference.input_dim, case.seed)
    return {f"layer.{layer}": layers[layer] for layer in assignment4_share.stage_of(case, rank)}


def _expect_whole_file(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    layers = reference.deep_single_step(seed=case.seed, device="cpu")
    by_name = {f"layer.{index}": weight for index, weight in enumerate(layers)}
    return {**_expect_single_step(reference, case, rank), **by_name}


def _initial_whole_file(reference: ModuleType, case: Case, rank: int) -> _Tensors:
    layers = reference.create_layers(reference.num_layers, reference.input_dim, case.seed)
    by_name = {f"layer.{index}": weight for index, weight in enumerate(layers)}
    return {**_initial_weight(reference, case, rank), **by_name}


def _rows_of(cut_by: str) -> Callable[[Case], int]:
    """Rows of a micro-batch, where ``cut_by`` is the argument that says how many there are."""
    return lambda case: case.sizes["global_batch_size"] // case.arguments[cut_by]


def _weight_exercise(
    name: str,
    title: str,
    step: str,
    known: tuple[Mistake, ...],
    printed: Printed,
    share: Callable[[_Tensors, Case, int], _Tensors],
    probes: Mapping[str, Probe] | None = None,
    ranks_asked: str = "all",
    most_gradient_rows: Callable[[Case], int] | None = None,
    rows_to_cut: Callable[[Case], int] | None = None,
    theory: Callable[[Case, int], Theory] | None = None,
    **arguments: int,
) -> Exercise:
    return Exercise(
        name=name,
        title=title,
        entries=(step,),
        drive=_drive_weight(step),
        expect=_expect_weight,
        initial=_initial_weight,
        prepare=_bind_baseline_globals,
        ranks_asked=ranks_asked,
        share=share,
        most_gradient_rows=most_gradient_rows,
        rows_to_cut=rows_to_cut,
        theory=theory,
        arguments=arguments,
        probes=probes or {},
        mistakes=known,
        printed=printed,
    )


LAB = Lab(
    name="assignment4",
    seed=42,
    sizes={"global_batch_size": 128, "input_dim": 64, "output_dim": 32},
    given_data=GivenData(assignment4_share.draw, assignment4_share.provide),
    last_line="done",
    exercises=(
        Exercise(
            name="script",
            title="The whole file under torchrun",
            entries=(),
            expect=_expect_whole_file,
            initial=_initial_whole_file,
        ),
        Exercise(
            name="single_step",
            title="Part 1: one step on one device",
            entries=("single_step",),
            drive=_drive_single_step,
            expect=_expect_single_step,
            initial=_initial_weight,
            mistakes=mistakes.SINGLE_STEP,
            printed=Printed(ranks="first", match=False),
        ),
        _weight_exercise(
            "grad_accumulation",
            "Part 2: gradient accumulation",
            "single_step_with_grad_accumulation",
            mistakes.GRAD_ACCUMULATION,
            Printed(ranks="first"),
            share=assignment4_share.share_everything,
            theory=assignment4_theory.alone,
            ranks_asked="first",
            most_gradient_rows=_rows_of("accumulation_steps"),
            accumulation_steps=4,
        ),
        _weight_exercise(
            "data_parallel",
            "Part 3: data parallel",
            "data_parallel_single_step",
            mistakes.DATA_PARALLEL,
            Printed("DataParallel"),
            share=assignment4_share.share_rows,
            theory=assignment4_theory.data_parallel,
            most_gradient_rows=lambda case: case.sizes["global_batch_size"] // case.world_size,
            rows_to_cut=lambda case: case.sizes["global_batch_size"],
        ),
        _weight_exercise(
            "column_parallel",
            "Part 4: column parallel",
            "full_column_parallel_single_step",
            mistakes.COLUMN_PARALLEL,
            Printed("FullColumnParallel"),
            share=assignment4_share.share_columns,
            theory=assignment4_theory.column_parallel,
            most_gradient_rows=lambda case: 0,
            probes={"input_gradient": layer_probe("FullColumnParallelLinear", axis=1)},
        ),
        _weight_exercise(
            "row_parallel",
            "Part 5: row parallel",
            "row_parallel_single_step",
            mistakes.ROW_PARALLEL,
            Printed("RowParallel"),
            share=assignment4_share.share_input_columns,
            theory=assignment4_theory.row_parallel,
            most_gradient_rows=lambda case: 0,
            probes={"input_gradient": layer_probe("RowParallelLinear", axis=0)},
        ),
        Exercise(
            name="pipeline",
            title="Part 6: pipeline parallel",
            entries=("pipeline_parallel_single_step",),
            drive=_drive_pipeline,
            expect=_expect_stage,
            initial=_initial_stage,
            arguments={"num_micro_batches": 4},
            prepare=_bind_baseline_globals,
            mistakes=mistakes.PIPELINE,
            printed=Printed("Pipeline"),
            share=assignment4_share.share_stage,
            theory=assignment4_theory.pipeline,
            most_gradient_rows=_rows_of("num_micro_batches"),
        ),
    ),
)
