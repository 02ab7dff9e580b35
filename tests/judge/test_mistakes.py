"""The known mistakes of assignment 4, computed from the real reference at every case that is asked."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from grader.cases import cases_for
from grader.exercises import assignment4_layers
from grader.exercises.assignment4 import LAB
from grader.exercises.contract import WrongReturn
from grader.judge.baseline import Baseline, asked_ranks
from grader.judge.known import LEAST_DISTANCE
from grader.judge.near import close
from grader.rubric import load_rubric

COURSE = Path(__file__).parents[2]
RUBRIC = load_rubric(COURSE / "reference" / "rubric.toml")
EXERCISES = [exercise for exercise in LAB.exercises if exercise.mistakes]
ALONE = ("single_step", "grad_accumulation", "pipeline")
# Without other ranks, most mistakes of the other parts are the right answer.
CASES = [
    (exercise, case)
    for exercise in EXERCISES
    for case in cases_for(RUBRIC, LAB, exercise, 20)
    if case.world_size > 1 or exercise.name in ALONE
]


def named(pair):
    exercise, case = pair
    return f"{exercise.name}-{case.check}-{case.world_size}"


@pytest.fixture(scope="module")
def baseline() -> Baseline:
    return Baseline(LAB, COURSE / "reference" / "assignment4.py", COURSE / "assignment" / "utils.py")


def answers_of(baseline, exercise, case):
    """For each mistake that applies, what every rank returns: all of them have the right names and shapes."""
    found = {}
    for mistake in exercise.mistakes:
        ranks = asked_ranks(exercise, case)
        values = {rank: baseline.mistaken(exercise, case, mistake, rank) for rank in ranks}
        for rank in ranks:
            expected = baseline.expected(exercise, case, rank)
            assert not values[rank] or values[rank].keys() == expected.keys()
            assert all(value.shape == expected[name].shape for name, value in values[rank].items())
        if all(values.values()):
            found[mistake] = values
    return found


def alike(first, second, tolerance=1e-5):
    return all(
        close(first[rank][name], second[rank][name], LEAST_DISTANCE * tolerance)
        for rank in first
        for name in first[rank]
    )


@pytest.mark.parametrize("pair", CASES, ids=named)
def test_mistakes_of_different_names_have_different_values(baseline, pair):
    exercise, case = pair
    for (one, values), (other, others) in combinations(answers_of(baseline, exercise, case).items(), 2):
        assert one.code == other.code or not alike(values, others), (one.code, other.code)


@pytest.mark.parametrize("pair", CASES, ids=named)
def test_mistakes_are_far_from_the_right_answer_on_several_ranks(baseline, pair):
    exercise, case = pair
    expected = {r: baseline.expected(exercise, case, r) for r in asked_ranks(exercise, case)}
    found = answers_of(baseline, exercise, case)
    assert found
    if exercise.name == "pipeline" and len(expected[0]) == 1:
        found = {mistake: values for mistake, values in found.items() if mistake.code != "shard-order"}
    for mistake, values in found.items():
        assert not alike(values, expected), mistake.code


def test_two_accumulation_steps_leave_open_why_the_update_is_twice_too_large(baseline):
    exercise = LAB["grad_accumulation"]
    (not_cleared,) = (m for m in exercise.mistakes if m.code == "gradients-not-cleared")
    (case, *_) = cases_for(RUBRIC, LAB, exercise, 20)
    assert baseline.mistaken(exercise, case, not_cleared, 0)
    two = type(case)(case.exercise, case.check, case.seed, 4, case.sizes, {"accumulation_steps": 2})
    assert baseline.mistaken(exercise, two, not_cleared, 0) == {}


def test_the_input_gradient_of_the_ranks_parts_adds_up_to_the_right_one(baseline):
    for name in ("column_parallel", "row_parallel"):
        exercise = LAB[name]
        case = next(c for c in cases_for(RUBRIC, LAB, exercise, 20) if c.check == "input_gradient")
        (mistake,) = (m for m in exercise.mistakes if m.code == "input-gradient-wrong")
        parts = [baseline.mistaken(exercise, case, mistake, rank)["input_gradient"] for rank in range(4)]
        right = baseline.expected(exercise, case, 0)["input_gradient"]
        assert close(torch.stack(parts).sum(0), right, 1e-6)


class Layer(nn.Module):
    """A right layer for one rank; ``turned`` keeps its shard as [out, in]."""

    turned = False

    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.shard = nn.Parameter(weight.T.clone() if self.turned else weight.clone())

    def forward(self, inputs):
        return inputs @ (self.shard.T if self.turned else self.shard)


class Turned(Layer):
    turned = True


class Biased(Layer):
    def __init__(self, weight, world_size, rank):
        super().__init__(weight, world_size, rank)
        self.bias = nn.Parameter(torch.zeros(weight.shape[1]))


class Partial(Layer):
    def forward(self, inputs):
        return super().forward(inputs)[:, :3]


class Detached(Layer):
    def forward(self, inputs):
        return super().forward(inputs.detach())


def asked(layer, monkeypatch, world_size=1):
    monkeypatch.setattr(assignment4_layers, "dist", SimpleNamespace(get_rank=int, get_world_size=lambda: 1))
    exercise = LAB["column_parallel"]
    (case, *_) = (c for c in cases_for(RUBRIC, LAB, exercise, 20) if c.check == "input_gradient")
    alone = type(case)(case.exercise, case.check, case.seed, world_size, case.sizes)
    student = SimpleNamespace(FullColumnParallelLinear=layer)
    return alone, exercise.probe("input_gradient").drive(student, alone, "cpu")


@pytest.mark.parametrize("layer", [Layer, Turned])
def test_a_right_layer_gives_the_baselines_values_whatever_the_name_and_layout_of_its_shard(
    baseline, monkeypatch, layer
):
    case, returned = asked(layer, monkeypatch)
    expected = baseline.expected(LAB["column_parallel"], case, 0)
    assert returned.keys() == expected.keys()
    assert all(close(returned[name], expected[name], 1e-6) for name in expected)


def test_an_input_that_gets_no_gradient_has_a_gradient_of_zero(monkeypatch):
    _, returned = asked(Detached, monkeypatch)
    assert not returned["input_gradient"].any()
    assert returned["weight_gradient"].any()


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Biased, "it has 2 parameters"),
        (lambda *_: SimpleNamespace(to=lambda device: None), "it has 0 parameters"),
        (Partial, r"of shape \[128, 32\], on every rank; it returned shape \[128, 3\]"),
    ],
    ids=["bias", "no module", "part of the output"],
)
def test_a_layer_of_another_structure_is_told_what_is_expected(monkeypatch, layer, words):
    with pytest.raises(WrongReturn, match=words):
        asked(layer, monkeypatch)
