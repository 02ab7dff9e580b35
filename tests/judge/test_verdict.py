"""A case passes only with a complete, valid and right artifact from every rank."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.judge.made import (
    LAB,
    after,
    before,
    case_of,
    codes,
    everywhere,
    files_of,
    judge,
    judge_ranks,
    raised,
    record,
    result_of,
    scaled,
)  # fmt: skip

CASE = case_of("data_parallel")


def test_right_values_on_every_rank_pass_without_findings():
    verdict = judge_ranks(CASE, everywhere(CASE, after(CASE)))
    assert (verdict.status, verdict.findings, verdict.output) == ("passed", (), ())
    assert [(rank.rank, rank.status, rank.match) for rank in verdict.ranks] == [
        (r, "passed", True) for r in range(4)
    ]
    assert all(rank.max_diff == 0.0 and rank.mean_diff == 0.0 for rank in verdict.ranks)


def test_rounding_noise_passes():
    noisy = after(CASE) + 2.4e-7 * torch.randn(after(CASE).shape).sign()
    verdict = judge_ranks(CASE, everywhere(CASE, noisy))
    assert verdict.status == "passed"
    assert 1e-7 < verdict.ranks[0].max_diff < 5e-7


@pytest.mark.parametrize("wrong", range(4))
def test_one_wrong_rank_fails_the_case(wrong):
    ranks = everywhere(CASE, after(CASE))
    ranks[wrong] = {"weight": after(CASE) + 1e-3}
    verdict = judge_ranks(CASE, ranks)
    assert verdict.status == "failed"
    assert [rank.rank for rank in verdict.ranks if rank.status == "failed"] == [wrong]
    assert verdict.findings


@pytest.mark.parametrize("absent", range(4))
def test_one_absent_rank_fails_the_case_although_the_job_finished(absent):
    ranks = everywhere(CASE, after(CASE))
    del ranks[absent]
    verdict = judge_ranks(CASE, ranks)
    assert verdict.status == "failed"
    assert (verdict.ranks[absent].status, verdict.ranks[absent].match) == ("missing", None)
    assert codes(verdict) == ["rank-missing"]
    assert verdict.findings[0].ranks == (absent,)


def test_a_job_that_finished_and_left_nothing_fails():
    assert judge(CASE, result_of(CASE, {})).status == "failed"


def test_whole_artifacts_pass_however_the_job_ended():
    for ended in ("died", "time-limit", "memory-limit", "output-limit"):
        assert judge_ranks(CASE, everywhere(CASE, after(CASE)), ended=ended).status == "passed"


def test_a_job_that_the_grader_could_not_run_is_an_error_even_with_right_artifacts():
    verdict = judge_ranks(CASE, everywhere(CASE, after(CASE)), ended="error", detail="no room on the disk")
    assert (verdict.status, verdict.detail, verdict.findings) == ("error", "no room on the disk", ())
    assert {rank.status for rank in verdict.ranks} == {"error"}


def test_a_baseline_that_does_not_move_is_an_error():
    still = replace(LAB["data_parallel"], initial=lambda _, case, rank: {"weight": after(case) + 1e-4})
    lab = replace(LAB, exercises=(still,))
    verdict = judge(CASE, result_of(CASE, files_of(CASE, everywhere(CASE, after(CASE)))), lab)
    assert verdict.status == "error"
    assert "too small" in verdict.detail


@pytest.mark.parametrize(
    "expect",
    [
        lambda *_: {},
        lambda *_: {"weight": torch.full((2,), torch.nan)},
        lambda *_: {"weight": 3},
        lambda *_: 1 / 0,
    ],
)
def test_a_baseline_that_cannot_be_used_is_an_error(expect):
    lab = replace(LAB, exercises=(replace(LAB["data_parallel"], expect=expect, initial=lambda *_: {}),))
    assert judge(CASE, result_of(CASE, {}), lab).status == "error"


def test_zeros_and_the_unchanged_weight_fail():
    for wrong in (torch.zeros_like(after(CASE)), before(CASE)):
        assert judge_ranks(CASE, everywhere(CASE, wrong)).status == "failed"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (torch.ones(1), "shape-mismatch"),
        (after(CASE)[:, :1], "shape-mismatch"),
        (after(CASE).T, "shape-mismatch"),
        (after(CASE)[None], "shape-mismatch"),
        (torch.empty(0), "shape-mismatch"),
        (after(CASE).double(), "dtype-mismatch"),
        (after(CASE).bfloat16(), "dtype-mismatch"),
        (after(CASE).to(torch.complex64), "dtype-mismatch"),
        (after(CASE) > 0, "dtype-mismatch"),
        (after(CASE).where(after(CASE) != after(CASE)[2, 3], torch.nan), "not-finite"),
        (torch.full_like(after(CASE), torch.inf), "not-finite"),
    ],
)
def test_a_tensor_of_another_form_is_named_and_never_compared(value, code):
    verdict = judge_ranks(CASE, everywhere(CASE, value))
    assert verdict.status == "failed"
    assert codes(verdict) == [code]
    assert verdict.findings[0].ranks == (0, 1, 2, 3)
    assert all((rank.max_diff, rank.match) == (None, False) for rank in verdict.ranks)


def test_values_too_large_to_subtract_give_no_number_that_json_lacks():
    huge = torch.full_like(after(CASE), 3.4e38)
    huge[0] *= -1
    verdict = judge_ranks(CASE, everywhere(CASE, huge))
    assert verdict.status == "failed"
    assert all(rank.max_diff is None or rank.max_diff < float("inf") for rank in verdict.ranks)


def test_a_missing_and_an_additional_name_fail():
    case = case_of("single_step")
    right = {"initial_weight": before(case), "updated_weight": after(case)}
    assert judge_ranks(case, {rank: right for rank in range(4)}).status == "passed"
    for wrong in ({"updated_weight": after(case)}, {**right, "more": after(case)}):
        verdict = judge_ranks(case, {rank: wrong for rank in range(4)})
        assert (verdict.status, codes(verdict)) == ("failed", ["wrong-type"])


def test_a_value_that_could_not_be_saved_says_why():
    left = record(CASE, 0, {}, problems={"weight": "it is of type list, not a tensor"})
    verdict = judge_ranks(CASE, {**everywhere(CASE, after(CASE)), 0: left})
    assert codes(verdict) == ["wrong-type"]
    assert "it is of type list" in verdict.findings[0].message


def test_where_the_first_rank_is_asked_the_others_still_leave_a_complete_record():
    case = case_of("grad_accumulation")
    right = {0: {"weight": after(case)}, 1: {}, 2: {}, 3: {}}
    verdict = judge_ranks(case, right)
    assert verdict.status == "passed"
    assert [rank.match for rank in verdict.ranks] == [True, None, None, None]
    assert judge_ranks(case, {0: right[0], 1: {}, 2: {}}).status == "failed"
    assert judge_ranks(case, {**right, 2: raised(case, 2, "ValueError")}).status == "failed"
    assert judge_ranks(case, {**right, 0: {}}).status == "failed"
    assert judge_ranks(case, {**right, 3: {"weight": after(case)}}).status == "failed"


def test_each_rank_of_a_pipeline_is_held_against_its_own_stage():
    case = case_of("pipeline")
    right = {rank: {f"layer.{rank}": after(case, rank)} for rank in range(4)}
    assert judge_ranks(case, right).status == "passed"
    swapped = {**right, 1: {"layer.1": after(case, 2)}, 2: {"layer.2": after(case, 1)}}
    assert judge_ranks(case, swapped).status == "failed"


def test_what_a_failed_case_printed_is_kept_without_control_characters():
    result = result_of(CASE, files_of(CASE, everywhere(CASE, scaled(CASE, 2))))
    loud = replace(result.ranks[1], output="\x1b[31mred\x1b[0m\x07 text\r\nnext \ud800")
    verdict = judge(CASE, replace(result, ranks=(result.ranks[0], loud)))
    assert verdict.output == ((0, "rank 0 says hello"), (1, "red text\nnext \N{REPLACEMENT CHARACTER}"))
    assert verdict.alone
    company = replace(result, job=replace(result.job, cases=(CASE, replace(CASE, check="hidden"))))
    assert not judge(CASE, company).alone  # the other case may have printed it


def test_the_staff_comparison_prints_nothing(capfd):
    judge_ranks(CASE, everywhere(CASE, after(CASE)))
    assert capfd.readouterr() == ("", "")


def test_judging_leaves_the_random_state_and_the_threads_alone():
    torch.manual_seed(1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    judge_ranks(CASE, everywhere(CASE, after(CASE)))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
