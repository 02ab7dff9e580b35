"""Hand-made job results of a tiny lab: what ranks might leave behind, without launching any."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import safetensors.torch
import torch

from grader.exercises.contract import Case, Exercise, Lab
from grader.job import Job, JobResult, RankEnd
from grader.judge.baseline import Baseline
from grader.judge.verdict import CaseVerdict, judge_case

STAFF_UTILS = Path(__file__).parents[2] / "assignment" / "utils.py"
TOLERANCE = 1e-5
ROWS, COLUMNS = 8, 12

Tensors = dict[str, torch.Tensor]


def before(case: Case, layer: int = 0) -> torch.Tensor:
    return torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(case.seed + layer))


def after(case: Case, layer: int = 0) -> torch.Tensor:
    step = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(case.seed + layer + 1000))
    return before(case, layer) - 0.1 * step


def scaled(case: Case, k: float) -> torch.Tensor:
    """The weight after ``k`` times the right update."""
    return before(case) - k * (before(case) - after(case))


def _weight(name: str, **more: Any) -> Exercise:
    return Exercise(
        name, name, (f"{name}_step",), lambda _, case, rank: {"weight": after(case)},
        lambda _, case, rank: {"weight": before(case)}, lambda student, case, device: {}, **more,
    )  # fmt: skip


LAB = Lab(
    name="tiny",
    exercises=(
        Exercise(
            "script", "The whole file", (),
            lambda _, case, rank: {
                "initial_weight": before(case), "updated_weight": after(case),
                "layer.0": after(case, 1), "layer.1": after(case, 2),
            },
            lambda _, case, rank: {
                "updated_weight": before(case), "layer.0": before(case, 1), "layer.1": before(case, 2)
            },
        ),
        Exercise(
            "single_step", "One step", ("single_step",),
            lambda _, case, rank: {"initial_weight": before(case), "updated_weight": after(case)},
            lambda _, case, rank: {"updated_weight": before(case)}, lambda student, case, device: {},
        ),
        _weight("data_parallel"),
        _weight("column_parallel"),
        _weight("row_parallel"),
        _weight("grad_accumulation", ranks_asked="first", arguments={"accumulation_steps": 4}),
        Exercise(
            "pipeline", "Pipeline", ("pipeline_step",),
            lambda _, case, rank: {f"layer.{rank}": after(case, rank)},
            lambda _, case, rank: {f"layer.{rank}": before(case, rank)}, lambda student, case, device: {},
            arguments={"num_micro_batches": 4},
        ),
    ),
    sizes={},
    seed=42,
)  # fmt: skip


def case_of(exercise: str, world_size: int = 4, check: str = "baseline", **arguments: int) -> Case:
    return Case(exercise, check, 7, world_size, {}, arguments)


def fake_load(*_: object, **__: object) -> ModuleType:
    return ModuleType("reference")


def baseline_of(lab: Lab = LAB) -> Baseline:
    return Baseline(lab, Path("reference.py"), STAFF_UTILS, load=fake_load)


def record(case: Case, rank: int, tensors: Mapping[str, torch.Tensor], **changes: Any) -> dict[str, Any]:
    return {
        "run": "run-1", "case": 0, "rank": rank, "world_size": case.world_size, "outcome": "returned",
        "tensors": {n: {"dtype": str(t.dtype), "shape": list(t.shape)} for n, t in tensors.items()},
        "problems": {}, "message": "", "error": None, "comparisons": [], "seconds": 0.1,
    } | changes  # fmt: skip


def raised(case: Case, rank: int, type: str, message: str = "", **error: Any) -> dict[str, Any]:
    where = {"stage": "call", "file": "tiny.py", "line": 30, "code": "x = y", "traceback": ""}
    return record(case, rank, {}, outcome="raised", error={"type": type, "message": message} | where | error)


def files_of(case: Case, ranks: Mapping[int, Tensors | dict[str, Any]]) -> dict[str, bytes]:
    """For each rank its tensors (a whole right record is made), or a record of another outcome."""
    files: dict[str, bytes] = {}
    for rank, left in ranks.items():
        plain = not left or all(isinstance(value, torch.Tensor) for value in left.values())
        said = record(case, rank, left) if plain else left
        files[f"case0-rank{rank}.json"] = json.dumps(said).encode()
        if plain and left:
            files[f"case0-rank{rank}.safetensors"] = save(left)
    return files


def save(tensors: Mapping[str, torch.Tensor]) -> bytes:
    return safetensors.torch.save({name: value.contiguous().clone() for name, value in tensors.items()})


def result_of(
    case: Case, files: dict[str, bytes], ended: str = "finished", detail: str = "", gone: tuple[int, ...] = ()
) -> JobResult:
    ends = tuple(RankEnd(r, True, r not in gone, 0, f"rank {r} says hello\n") for r in range(case.world_size))
    return JobResult(Job("run-1", case.world_size, (case,)), ended, detail, ends, files)


def judge(case: Case, result: JobResult, lab: Lab = LAB) -> CaseVerdict:
    return judge_case(lab, lab[case.exercise], case, 0, result, baseline_of(lab), TOLERANCE)


def judge_ranks(case: Case, ranks: Mapping[int, Any], **how: Any) -> CaseVerdict:
    return judge(case, result_of(case, files_of(case, ranks), **how))


def everywhere(case: Case, tensor: torch.Tensor) -> dict[int, Tensors]:
    return {rank: {"weight": tensor} for rank in range(case.world_size)}


def codes(verdict: CaseVerdict) -> list[str]:
    return [finding.code for finding in verdict.findings]
