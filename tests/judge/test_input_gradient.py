"""A layer asked for its output and both of its gradients."""

from __future__ import annotations

import pytest
import torch

from grader.exercises.contract import Case, Exercise
from grader.judge.evidence import Evidence
from grader.judge.updates import explain_values

CASE = Case("tiny", "input_gradient", 1, 4)
GENERATOR = torch.Generator().manual_seed(3)
RIGHT = {
    "output": torch.randn(6, 8, generator=GENERATOR),
    "weight_gradient": torch.randn(8, 2, generator=GENERATOR),
    "input_gradient": torch.randn(6, 8, generator=GENERATOR),
}
BEFORE = {name: torch.zeros_like(value) for name, value in RIGHT.items() if name != "output"}


def explained(**changed):
    """The explanation of four ranks that are all wrong in the same way."""
    ranks = range(4)
    returned = RIGHT | changed
    evidence = Evidence(
        exercise=Exercise("tiny", "Tiny", (), lambda *_: {}, lambda *_: {}),
        case=CASE,
        expected=dict.fromkeys(ranks, RIGHT),
        initial=dict.fromkeys(ranks, BEFORE),
        returned=dict.fromkeys(ranks, returned),
        wrong=dict.fromkeys(ranks, tuple(name for name in RIGHT if name in changed)),
        arguments={},
        tolerance=1e-5,
    )
    (explanation,) = explain_values(evidence)
    assert explanation.ranks == (0, 1, 2, 3)
    return explanation


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (4 * RIGHT["input_gradient"], "4 times the right one (the world size)"),
        (0.5 * RIGHT["input_gradient"], "0.5 times the right one"),
        (torch.zeros(6, 8), "zero everywhere"),
        (torch.cat(RIGHT["input_gradient"].chunk(4, 1)[::-1], 1), "those of ranks 3, 2, 1, 0"),
        (RIGHT["input_gradient"] + 0.25, "differs from the right one by up to 0.25"),
    ],
    ids=["summed", "halved", "zero", "reversed", "off"],
)
def test_an_input_gradient_that_alone_is_wrong_is_named_with_what_was_seen(wrong, words):
    explanation = explained(input_gradient=wrong)
    assert explanation.code == "input-gradient-wrong"
    assert words in explanation.message


def test_both_gradients_scaled_are_one_factor_and_called_gradients():
    scaled = {name: 3 * RIGHT[name] for name in BEFORE}
    explanation = explained(**scaled)
    assert explanation.code == "gradient-scaled"
    assert explanation.message.startswith("The gradient is 3 times the expected one")


def test_gradients_that_never_came_are_no_update():
    explanation = explained(**BEFORE)
    assert explanation.code == "no-update"
    assert explanation.message.startswith("The gradients are zero after the backward pass")


def test_a_wrong_output_is_not_blamed_on_the_gradient():
    explanation = explained(output=RIGHT["output"] + 1, input_gradient=RIGHT["input_gradient"] + 1)
    assert explanation.code == "wrong-values"
    assert "`output`" in explanation.message
