"""The trusted answers, from the real reference solution."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.exercises.assignment4 import LAB
from grader.exercises.contract import Case
from grader.judge.baseline import Baseline, BaselineError, load_staff_utils
from tests.judge import made

COURSE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def baseline() -> Baseline:
    return Baseline(LAB, COURSE / "reference" / "assignment4.py", COURSE / "assignment" / "utils.py")


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("exercise", LAB.exercises, ids=lambda exercise: exercise.name)
def test_every_exercise_has_answers_that_move_far_enough_to_prove_something(baseline, exercise, world_size):
    case = Case(exercise.name, "baseline", LAB.seed, world_size, LAB.sizes, exercise.arguments)
    answers = baseline.answers(exercise, case, 1e-5)
    asked = 1 if exercise.ranks_asked == "first" else world_size
    assert sorted(answers.expected) == sorted(answers.initial) == list(range(asked))
    assert all(answers.expected[rank] and answers.initial[rank] for rank in range(asked))


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("name", ["column_parallel", "row_parallel"])
def test_a_layer_is_expected_to_give_its_output_its_shards_gradient_and_the_inputs(
    baseline, name, world_size
):
    case = Case(name, "input_gradient", LAB.seed, world_size, LAB.sizes)
    answers = baseline.answers(LAB[name], case, 1e-5)
    rows, columns = 64, 32
    cut = (rows, columns // world_size) if name == "column_parallel" else (rows // world_size, columns)
    for rank in range(world_size):
        shapes = {key: tuple(value.shape) for key, value in answers.expected[rank].items()}
        assert shapes == {"output": (128, 32), "weight_gradient": cut, "input_gradient": (128, 64)}
        assert answers.initial[rank].keys() == {"weight_gradient", "input_gradient"}


def test_answers_are_computed_once_and_differ_by_seed_and_sizes(baseline):
    exercise = LAB["single_step"]
    case = Case("single_step", "hidden", 5, 2, LAB.sizes)
    small = Case("single_step", "hidden", 5, 2, {**LAB.sizes, "input_dim": 16})
    first = baseline.expected(exercise, case, 0)
    assert baseline.expected(exercise, case, 0) is first
    assert baseline.expected(exercise, small, 0)["updated_weight"].shape == (16, 32)
    other = baseline.expected(exercise, Case("single_step", "hidden", 6, 2, LAB.sizes), 0)
    assert not other["updated_weight"].equal(first["updated_weight"])


def test_staff_utilities_that_cannot_be_loaded_are_a_baseline_error(tmp_path):
    broken = tmp_path / "utils.py"
    broken.write_text("raise RuntimeError('no')")
    with pytest.raises(BaselineError, match="cannot be loaded"):
        load_staff_utils(broken)
    with pytest.raises(BaselineError):
        load_staff_utils(tmp_path / "absent.py")


def test_the_staff_utilities_print_nothing_and_other_modules_still_do(capfd):
    made.baseline_of().compare(made.torch.ones(2), made.torch.ones(2))
    print("still here")
    assert capfd.readouterr().out == "still here\n"
