"""Wrong updates: the arithmetic names the mistake."""

from __future__ import annotations

import pytest
import torch

from grader.judge.findings import Finding, merge_findings, name_ranks
from grader.judge.shards import shard_order
from tests.judge.made import after, before, case_of, codes, everywhere, judge_ranks, scaled


def the_finding(case, ranks):
    (finding,) = judge_ranks(case, ranks).findings
    return finding


@pytest.mark.parametrize(
    ("exercise", "world_size", "k", "code"),
    [
        ("data_parallel", 4, 4, "gradient-not-averaged"),
        ("data_parallel", 2, 2, "gradient-not-averaged"),
        ("data_parallel", 4, 1 / 4, "gradient-averaged-twice"),
        ("data_parallel", 4, 2, "gradient-scaled"),
        ("data_parallel", 4, 16, "gradient-scaled"),
        ("data_parallel", 4, -1, "gradient-scaled"),
        ("column_parallel", 4, 4, "gradient-scaled"),
        ("column_parallel", 4, 1 / 4, "gradient-scaled"),
        ("column_parallel", 4, 0.998, "gradient-scaled"),
        ("column_parallel", 4, 0.01, "gradient-scaled"),
    ],
)
def test_a_constant_factor_is_named_for_what_it_equals(exercise, world_size, k, code):
    case = case_of(exercise, world_size)
    finding = the_finding(case, everywhere(case, scaled(case, k)))
    assert (finding.code, finding.ranks) == (code, tuple(range(world_size)))
    assert f"{k:.3g} times" in finding.message


def test_a_factor_that_equals_nothing_known_is_stated_to_three_digits():
    case = case_of("column_parallel")
    finding = the_finding(case, everywhere(case, scaled(case, 2.71828)))
    assert finding.code == "gradient-scaled"
    assert "2.72 times" in finding.message


def test_a_factor_of_the_world_size_is_guessed_outside_of_data_parallel():
    case = case_of("column_parallel")
    assert "is the world size" in the_finding(case, everywhere(case, scaled(case, 4))).message
    assert "one divided by the world size" in the_finding(case, everywhere(case, scaled(case, 0.25))).message


@pytest.mark.parametrize(
    ("exercise", "k", "words"),
    [
        ("column_parallel", 4, "`GatherParallel`"),
        ("data_parallel", 2, "a second `backward()`"),
        ("column_parallel", 2, "a second `backward()`"),
        ("column_parallel", 3, "The learning rate has the same effect"),
        ("column_parallel", -1, "up the gradient instead of down"),
    ],
)
def test_a_factor_leads_to_the_place_where_its_exercise_gets_it(exercise, k, words):
    case = case_of(exercise)
    finding = the_finding(case, everywhere(case, scaled(case, k)))
    assert finding.code == "gradient-scaled"
    assert words in finding.message


def test_accumulation_that_is_not_scaled_is_named_with_the_cases_own_number_of_steps():
    case = case_of("grad_accumulation", accumulation_steps=8)
    finding = the_finding(case, {0: {"weight": scaled(case, 8)}, 1: {}, 2: {}, 3: {}})
    assert (finding.code, finding.ranks) == ("accumulation-not-scaled", (0,))


def test_accumulation_steps_that_the_case_leaves_open_are_the_exercises_default():
    case = case_of("grad_accumulation")
    left = {0: {"weight": scaled(case, 4)}, 1: {}, 2: {}, 3: {}}
    assert the_finding(case, left).code == "accumulation-not-scaled"
    left[0] = {"weight": scaled(case, 0.25)}
    assert the_finding(case, left).code == "gradient-scaled"


def test_a_factor_of_the_micro_batches_is_guessed_before_the_world_size():
    case = case_of("pipeline")
    left = {r: {f"layer.{r}": before(case, r) - 4 * (before(case, r) - after(case, r))} for r in range(4)}
    finding = the_finding(case, left)
    assert (finding.code, finding.ranks) == ("gradient-scaled", (0, 1, 2, 3))
    assert "the number of micro-batches" in finding.message


def test_a_factor_on_some_ranks_names_those_ranks():
    case = case_of("data_parallel")
    left = everywhere(case, after(case)) | {3: {"weight": scaled(case, 4)}}
    finding = the_finding(case, left)
    assert (finding.code, finding.ranks) == ("gradient-not-averaged", (3,))


def test_an_unchanged_weight_is_no_update():
    case = case_of("data_parallel")
    finding = the_finding(case, everywhere(case, before(case)))
    assert (finding.code, finding.ranks) == ("no-update", (0, 1, 2, 3))


def test_an_initial_weight_that_the_step_changed_is_named():
    case = case_of("single_step")
    left = {rank: {"initial_weight": after(case), "updated_weight": after(case)} for rank in range(4)}
    finding = the_finding(case, left)
    assert finding.code == "initial-weight-changed"
    assert "`initial_weight`" in finding.message


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 2, 3, 0), (1, 0, 2, 3)])
def test_right_shards_in_a_wrong_order_are_named(axis, order):
    case = case_of("column_parallel")
    shards = after(case).chunk(4, axis)
    finding = the_finding(case, everywhere(case, torch.cat([shards[i] for i in order], axis)))
    assert (finding.code, finding.ranks) == ("shard-order", (0, 1, 2, 3))
    assert ", ".join(map(str, order)) in finding.message


def test_one_shard_everywhere_is_named():
    case = case_of("column_parallel")
    shards = after(case).chunk(4, 1)
    finding = the_finding(case, everywhere(case, torch.cat([shards[3]] * 4, 1)))
    assert (finding.code, finding.ranks) == ("shard-repeated", (0, 1, 2, 3))
    own = {rank: {"weight": torch.cat([shards[rank]] * 4, 1)} for rank in range(4)}
    finding = the_finding(case, own)
    assert (finding.code, finding.ranks) == ("shard-repeated", (0, 1, 2, 3))


def test_shards_of_something_else_have_no_order():
    case = case_of("column_parallel")
    assert shard_order(torch.zeros_like(after(case)), after(case), 4, 1e-5) is None
    assert shard_order(after(case), after(case), 4, 1e-5) is None
    assert shard_order(after(case), after(case), 1, 1e-5) is None
    assert shard_order(after(case)[:7], after(case)[:7], 5, 1e-5) is None
    assert shard_order(torch.empty(0, 4), torch.empty(0, 4), 4, 1e-5) is None


def test_ranks_with_different_values_disagree():
    case = case_of("data_parallel")
    left = {rank: {"weight": after(case) + 0.01 * torch.randn(after(case).shape)} for rank in range(4)}
    finding = the_finding(case, left)
    assert (finding.code, finding.ranks) == ("ranks-disagree", (0, 1, 2, 3))
    finding = the_finding(case, left | {0: {"weight": after(case)}})
    assert (finding.code, finding.ranks) == ("ranks-disagree", (1, 2, 3))
    assert "Rank 0 agrees with the baseline" in finding.message


def test_stages_of_a_pipeline_cannot_disagree():
    case = case_of("pipeline")
    noise = 0.01 * torch.randn(8, 12)
    finding = the_finding(case, {rank: {f"layer.{rank}": after(case, rank) + noise} for rank in range(4)})
    assert finding.code == "wrong-values"


def test_values_without_a_named_cause_say_how_far_off_they_are():
    case = case_of("data_parallel")
    wrong = after(case).clone()
    wrong[2, 3] += 0.125
    finding = the_finding(case, everywhere(case, wrong))
    assert finding.code == "wrong-values"
    assert "1 of 96 values" in finding.message
    assert "0.125" in finding.message


def test_a_rank_of_another_shape_and_ranks_of_wrong_values_are_two_causes():
    case = case_of("data_parallel")
    left = everywhere(case, scaled(case, 4)) | {1: {"weight": torch.ones(1)}}
    verdict = judge_ranks(case, left)
    assert {finding.code: finding.ranks for finding in verdict.findings} == {
        "shape-mismatch": (1,), "gradient-not-averaged": (0, 2, 3),
    }  # fmt: skip


def test_huge_values_are_explained_without_an_exception():
    case = case_of("data_parallel")
    verdict = judge_ranks(case, everywhere(case, torch.full_like(after(case), 3e38)))
    assert codes(verdict) == ["wrong-values"]


def test_findings_of_one_check_code_and_place_are_merged_and_their_ranks_united():
    found = [
        Finding("no-update", "first", "hidden", (2,)), Finding("no-update", "second", "hidden", (0, 2)),
        Finding("no-update", "other", "baseline", (1,)), Finding("exception", "a", "hidden", (1,), "f.py", 3),
        Finding("exception", "b", "hidden", (1,), "f.py", 4),
    ]  # fmt: skip
    assert [(f.code, f.message, f.ranks) for f in merge_findings(found)] == [
        ("no-update", "first", (0, 2)), ("no-update", "other", (1,)),
        ("exception", "a", (1,)), ("exception", "b", (1,)),
    ]  # fmt: skip


def test_ranks_are_named_as_in_a_sentence():
    assert [name_ranks(r) for r in ([2], [3, 0], [0, 1, 3])] == [
        "rank 2",
        "ranks 0 and 3",
        "ranks 0, 1 and 3",
    ]
