"""The whole file: operands of its comparisons decide, not what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from tests.judge.made import after, before, case_of, codes, judge, raised, record, result_of, save, scaled

CASE = case_of("script", world_size=2, check="script")
W0, W1 = before(CASE), after(CASE)
MOVED = ("", 10, W0, W1)
AGREES = ("DataParallel", 20, W1, W1.clone())
RIGHT = {0: [MOVED, AGREES], 1: [AGREES]}


def judge_calls(calls: dict[int, list[tuple[str, int, Any, Any]]], **changes: Any):
    files = {}
    for rank, made in calls.items():
        tensors = {
            f"comparison.{k}.{side}": value
            for k, (_, _, *sides) in enumerate(made)
            for side, value in zip(("first", "second"), sides, strict=True)
        }
        said = (
            record(CASE, rank, tensors, comparisons=[{"prefix": p, "line": n} for p, n, _, _ in made])
            | changes
        )
        files[f"case0-rank{rank}.json"] = json.dumps(said).encode()
        files[f"case0-rank{rank}.safetensors"] = save(tensors)
    return judge(CASE, result_of(CASE, files))


def test_a_driver_whose_comparisons_hold_passes():
    verdict = judge_calls(RIGHT)
    assert (verdict.status, verdict.findings) == ("passed", ())
    assert [(rank.match, rank.max_diff) for rank in verdict.ranks] == [(True, 0.0), (True, 0.0)]


def test_the_first_comparison_may_have_its_operands_in_either_order_and_stand_on_every_rank():
    assert judge_calls({0: [("", 1, W1, W0), AGREES], 1: [MOVED, AGREES]}).status == "passed"


def test_layers_are_held_against_the_layers():
    layers = [("Pipeline", 30, after(CASE, n), after(CASE, n)) for n in (1, 2)]
    assert judge_calls({0: [MOVED, layers[0]], 1: [layers[1]]}).status == "passed"
    verdict = judge_calls({0: [MOVED, ("Pipeline", 30, after(CASE, 1), after(CASE, 2))], 1: [layers[1]]})
    assert verdict.status == "failed"
    assert "two different weights" in verdict.findings[0].message


def test_a_result_that_is_off_names_prefix_line_ranks_and_amount():
    wrong = ("DataParallel", 20, W1, scaled(CASE, 2))
    verdict = judge_calls({0: [MOVED, wrong], 1: [wrong]})
    (finding,) = verdict.findings
    assert (finding.code, finding.ranks, finding.file, finding.line) == (
        "wrong-values",
        (0, 1),
        "tiny.py",
        20,
    )
    assert '"DataParallel"' in finding.message
    assert "2 times the expected" in finding.message
    assert verdict.ranks[0].max_diff == pytest.approx(float((W1 - scaled(CASE, 2)).abs().max()))


def test_two_wrong_operands_that_agree_with_each_other_fail():
    same = scaled(CASE, 2)
    assert judge_calls({0: [MOVED, ("", 20, same, same)], 1: [AGREES]}).status == "failed"
    verdict = judge_calls({0: [MOVED, ("", 20, W0, W0)], 1: [AGREES]})
    assert codes(verdict) == ["no-update"]


def test_a_layer_that_was_not_updated_is_told_so():
    verdict = judge_calls({0: [MOVED, ("", 20, after(CASE, 1), before(CASE, 1))], 1: [AGREES]})
    assert codes(verdict) == ["no-update"]


def test_a_first_comparison_whose_operands_are_the_same_fails():
    verdict = judge_calls({0: [("", 10, W1, W1), AGREES], 1: [AGREES]})
    assert (verdict.status, codes(verdict)) == ("failed", ["comparison-missing"])
    assert verdict.findings[0].ranks == (0,)


def test_a_rank_that_compares_no_result_fails():
    assert codes(judge_calls({0: [MOVED], 1: [AGREES]})) == ["comparison-missing"]
    assert codes(judge_calls({0: [MOVED, AGREES], 1: []})) == ["comparison-missing"]
    assert codes(judge_calls({0: [MOVED, AGREES], 1: [MOVED]})) == ["comparison-missing"]


def test_no_comparison_at_all_fails():
    assert judge_calls({0: [], 1: []}).status == "failed"
    assert judge_calls(RIGHT, comparisons=None).status == "failed"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (torch.ones(1), "shape-mismatch"),
        (W1.double(), "dtype-mismatch"),
        (torch.full_like(W1, torch.nan), "not-finite"),
    ],
)
def test_an_operand_of_another_form_is_named(value, code):
    verdict = judge_calls({0: [MOVED, ("x", 20, W1, value)], 1: [AGREES]})
    assert codes(verdict) == [code]
    assert verdict.ranks[0].max_diff is None


def test_a_rank_that_did_not_come_to_its_end_fails_with_its_own_reason():
    files = {
        f"case0-rank{rank}.json": json.dumps(raised(CASE, rank, "NameError", "n")).encode() for rank in (0, 1)
    }
    verdict = judge(CASE, result_of(CASE, files))
    assert (verdict.status, codes(verdict)) == ("failed", ["exception"])


def test_a_prefix_is_shown_short_and_clean():
    verdict = judge_calls({0: [MOVED, ("\x1b[31m" + "p" * 500 + "\n", 20, W1, W0 + 1)], 1: [AGREES]})
    assert "\x1b" not in verdict.findings[0].message
    assert len(verdict.findings[0].message) < 600
