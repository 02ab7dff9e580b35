"""Who is given which part of the data, and what is made of the work that the ranks' recorders counted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import safetensors.torch
import torch

from grader.exercises.assignment4 import LAB
from grader.exercises.contract import Case
from grader.job import Job, JobResult, RankEnd
from grader.judge.baseline import Baseline
from grader.judge.given import Given
from grader.judge.record import Work
from grader.judge.share import cut
from grader.judge.verdict import CaseVerdict, judge_case
from tests.grading import COURSE
from tests.judge.made import TOLERANCE, record, save

Tensors = dict[str, torch.Tensor]


def case_of(exercise: str, **changes: Any) -> Case:
    case = Case(exercise, "own_share", 42, 4, dict(LAB.sizes), dict(LAB[exercise].arguments))
    return replace(case, **changes)


def shares(exercise: str, secret: str = "1", **changes: Any) -> list[Tensors]:
    given = Given(LAB, secret)
    job = Job("run", 4, (case_of(exercise, **changes),))
    made = given.shares(job)
    return [safetensors.torch.load(made[f"case0-rank{rank}"]) for rank in range(4)]


@pytest.mark.parametrize(
    ("exercise", "owned"),
    [
        ("data_parallel", {"weight": (64, 32), "inputs": (32, 64), "targets": (32, 32)}),
        ("column_parallel", {"weight": (64, 8), "inputs": (128, 64), "targets": (128, 32)}),
        ("row_parallel", {"weight": (16, 32), "inputs": (128, 16), "targets": (128, 32)}),
    ],
)
def test_a_rank_is_given_its_own_slice_and_nan_elsewhere(
    exercise: str, owned: dict[str, tuple[int, int]]
) -> None:
    for share in shares(exercise):
        known = {name: int(value.isfinite().sum()) for name, value in share.items()}
        assert {name: count for name, count in known.items() if count} == {
            name: rows * columns for name, (rows, columns) in owned.items()
        }


def test_the_slices_of_all_ranks_make_up_the_whole() -> None:
    for exercise, name, axis in [("data_parallel", "inputs", 0), ("column_parallel", "weight", 1)]:
        whole = Given(LAB, "1").whole(case_of(exercise))[name]
        slices = [share[name].chunk(4, axis)[rank] for rank, share in enumerate(shares(exercise))]
        assert torch.equal(torch.cat(slices, axis), whole)


def test_a_stage_is_given_its_layers_the_first_the_inputs_and_the_last_the_targets() -> None:
    for rank, share in enumerate(shares("pipeline")):
        known = {name for name, value in share.items() if value.isfinite().all()}
        ends = {0: {"inputs"}, 3: {"deep_targets"}}
        assert known == {f"layer.{rank}", *ends.get(rank, set())}


def test_rank_0_may_be_given_everything() -> None:
    first, second, *_ = shares("data_parallel", whole_ranks=(0,))
    assert all(value.isfinite().all() for value in first.values())
    assert second["inputs"].isnan().any()


def test_rows_that_a_submission_takes_in_its_own_way_may_be_its_share() -> None:
    rows = tuple(tuple(range(rank, 128, 4)) for rank in range(4))
    for rank, share in enumerate(shares("data_parallel", rows=rows)):
        for name in ("inputs", "targets"):
            known = share[name].isfinite().all(dim=1).nonzero().flatten().tolist()
            assert known == list(rows[rank])


@pytest.mark.parametrize(
    ("taken", "parts"),
    [
        ([[0, 2], [1, 3]], ((0, 2), (1, 3))),
        ([[2, 3], [0, 1]], ((2, 3), (0, 1))),
        ([[0, 1], [1, 2]], ()),  # row 1 twice, row 3 not at all
        ([[0, 1, 2], [3]], ()),
        ([[0, 1, 2, 3], [0, 1, 2, 3]], ()),
        ([[0, 1, 2, 3], []], ()),
        ([[0, 1], [2, 4]], ()),
        ([[0, 1, 2, 3]], ()),  # rank 1 left nothing
    ],
)
def test_only_equal_parts_of_the_whole_batch_are_a_cut(
    taken: list[list[int]], parts: tuple[tuple[int, ...], ...]
) -> None:
    work = {rank: Work(rows=rows) for rank, rows in enumerate(taken)}
    assert cut(work, batch=4, world_size=2) == parts


def test_the_data_follows_from_the_master_seed_and_from_no_seed_that_a_rank_is_told() -> None:
    case = case_of("data_parallel")
    drawn = Given(LAB, "1").whole(case)["inputs"]
    assert torch.equal(drawn, Given(LAB, "1").whole(replace(case, seed=7))["inputs"])
    assert not torch.equal(drawn, Given(LAB, "2").whole(case)["inputs"])
    torch.manual_seed(case.seed)
    assert not torch.equal(drawn, torch.randn(128, 64))


def judged(exercise: str, work: dict[str, Any] | None, **changes: Any) -> CaseVerdict:
    """The verdict where every rank returned the right values and counted this work."""
    case = case_of(exercise, **changes)
    given = Given(LAB, "1")
    baseline = Baseline(LAB, COURSE.reference_dir / LAB.file, COURSE.staff_utils, given)
    files: dict[str, bytes] = {}
    for rank in range(4):
        asked = LAB[exercise].ranks_asked == "all" or rank == 0
        values = baseline.expected(LAB[exercise], case, rank) if asked else {}
        files[f"case0-rank{rank}.json"] = json.dumps(record(case, rank, values, work=work)).encode()
        if values:
            files[f"case0-rank{rank}.safetensors"] = save(values)
    ends = tuple(RankEnd(rank, True, True, 0) for rank in range(4))
    result = JobResult(Job("run-1", 4, (case,)), "finished", "", ends, files)
    return judge_case(LAB, LAB[exercise], case, 0, result, baseline, TOLERANCE)


def counted(rows: list[int], flops: int = 1) -> dict[str, Any]:
    return {"flops": flops, "gradient_rows": rows, "collectives": []}


@pytest.mark.parametrize(
    ("exercise", "honest", "too_many"),
    [
        ("grad_accumulation", [32] * 4, [128]),
        ("pipeline", [32] * 4, [128]),
        ("data_parallel", [32], [128]),
        ("column_parallel", [], [128]),
        ("row_parallel", [], [128]),
    ],
)
def test_right_values_by_more_than_the_own_part_of_the_work_are_not_parallel(
    exercise: str, honest: list[int], too_many: list[int]
) -> None:
    assert judged(exercise, counted(honest)).status == "passed"
    verdict = judged(exercise, counted(too_many))
    assert (verdict.status, [found.code for found in verdict.findings]) == ("failed", ["not-parallel"])


def test_a_rank_0_that_holds_everything_must_not_do_everything() -> None:
    whole_step = 2 * 2 * 128 * 64 * 32  # forward and weight gradient, two operations each
    honest = judged("data_parallel", counted([32], whole_step // 4), whole_ranks=(0,))
    unused_forward = judged("data_parallel", counted([32], 3 * whole_step // 4), whole_ranks=(0,))
    everything = judged("data_parallel", counted([32], whole_step), whole_ranks=(0,))
    assert [honest.status, unused_forward.status, everything.status] == ["passed", "passed", "failed"]
    assert everything.findings[0].ranks == (0, 1, 2, 3)
    assert "100%" in everything.findings[0].message


def test_a_rank_that_fetches_everything_must_not_do_everything_either() -> None:
    whole_step = 2 * 2 * 128 * 64 * 32
    unused_forward = judged("data_parallel", counted([32], 3 * whole_step // 4))
    everything = judged("data_parallel", counted([32, 32, 32, 32], whole_step))
    assert [unused_forward.status, everything.status] == ["passed", "failed"]
    assert everything.findings[0].code == "not-parallel"


def test_ranks_that_do_next_to_nothing_give_away_work_that_was_not_counted_on_rank_0() -> None:
    verdict = judged("data_parallel", counted([32], 100), whole_ranks=(0,))
    assert (verdict.status, verdict.findings[0].code) == ("failed", "not-parallel")
    assert verdict.findings[0].ranks == (0, 1, 2, 3)


@pytest.mark.parametrize("rows", [[], [32] * 3])
def test_accumulation_without_backward_passes_over_the_batch_is_none(rows: list[int]) -> None:
    verdict = judged("grad_accumulation", counted(rows))
    assert (verdict.status, [found.code for found in verdict.findings]) == ("failed", ["not-parallel"])
    assert f"over {sum(rows)} of the 128 rows" in verdict.findings[0].message
