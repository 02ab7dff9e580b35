"""How the exercises call a student's functions, and what they make of what comes back."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
import torch.distributed as dist

from grader.exercises.assignment4 import LAB
from grader.exercises.contract import Case, WrongReturn

SIZES = {"global_batch_size": 8, "input_dim": 4, "output_dim": 2}


@pytest.fixture(autouse=True)
def alone(tmp_path):
    """A process group of one rank."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def drive(name, source, **arguments):
    student = ModuleType("assignment4")
    exec("import torch\ncalls = []\n" + source, student.__dict__)
    exercise = LAB[name]
    case = Case(name, "baseline", 7, 1, SIZES, {**exercise.arguments, **arguments})
    if exercise.prepare is not None:
        exercise.prepare(student, case, "cpu")
    return exercise.drive(student, case, "cpu"), student


@pytest.mark.parametrize("kind", ["(a, b)", "[a, b]"])
def test_the_baseline_step_returns_both_weights(kind):
    returned, _ = drive("single_step", f"def single_step(seed, device):\n    a, b = 1, 2\n    return {kind}")
    assert returned == {"initial_weight": 1, "updated_weight": 2}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("None", "None"),
        ("(1, 2, 3)", "a tuple of 3"),
        ("torch.ones(2)", "of type Tensor"),
        ("[]", "a list of 0"),
    ],
)
def test_a_baseline_step_that_returns_something_else_is_told_what(value, said):
    with pytest.raises(WrongReturn, match=said):
        drive("single_step", f"def single_step(seed, device): return {value}")


@pytest.mark.parametrize(
    "signature",
    [
        "seed=42, device='cuda', accumulation_steps=4",
        "seed, device, accumulation_steps",
        "*, accumulation_steps, device, seed",
        "s, d, k",
        "*arguments",
        "**arguments",
        "accumulation_steps=4, seed=42, device='cuda', verbose=True",
    ],
)
def test_arguments_go_by_the_contract_s_names_or_else_by_place(signature):
    source = f"def single_step_with_grad_accumulation({signature}):\n"
    source += "    calls.append(locals())\n    return torch.ones(1)"
    _, student = drive("grad_accumulation", source, accumulation_steps=2)
    (call,) = student.calls
    values = [value for value in call.values() if value is not True]
    for value in list(values):
        values += (
            list(value.values())
            if isinstance(value, dict)
            else list(value)
            if isinstance(value, tuple)
            else []
        )
    assert {7, "cpu", 2} <= {value for value in values if isinstance(value, int | str)}


@pytest.mark.parametrize("value", ["None", "(torch.ones(1),)", "1.0"])
def test_a_part_that_returns_no_tensor_is_told_so(value):
    with pytest.raises(WrongReturn, match="must return the updated weight"):
        drive("data_parallel", f"def data_parallel_single_step(seed, device): return {value}")


BASELINE = """
def single_step(seed, device):
    calls.append("baseline")
    return torch.zeros(4, 2), torch.ones(4, 2)
"""
READERS = {
    "the step": """
def data_parallel_single_step(seed, device):
    return updated_weight + initial_weight
""",
    "another function": """
def helper():
    return updated_weight
def data_parallel_single_step(seed, device):
    return helper()
""",
    "a method": """
class Layer:
    def forward(self):
        return updated_weight
def data_parallel_single_step(seed, device):
    return Layer().forward()
""",
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_weights_that_the_handout_s_driver_binds_are_there_for_who_reads_them(reader):
    returned, student = drive("data_parallel", BASELINE + reader)
    assert returned["updated_weight"].equal(torch.ones(4, 2))
    assert student.calls == ["baseline"]


def test_nobody_pays_for_the_baseline_who_does_not_read_it():
    own = "def data_parallel_single_step(seed, device):\n    updated_weight = torch.ones(4, 2)\n"
    _, student = drive("data_parallel", BASELINE + own + "    return updated_weight")
    assert student.calls == []


def test_a_pipeline_s_weights_are_named_by_their_layers():
    returned, _ = drive("pipeline", "def pipeline_parallel_single_step(**_): return [1, 2, 3, 4]")
    assert returned == {"layer.0": 1, "layer.1": 2, "layer.2": 3, "layer.3": 4}


@pytest.mark.parametrize("value", ["[1, 2]", "None", "torch.ones(4)", "dict(a=1, b=2, c=3, d=4)"])
def test_a_pipeline_that_returns_another_number_of_layers_is_told_how_many(value):
    with pytest.raises(WrongReturn, match="here 4 of 4 layers"):
        drive("pipeline", f"def pipeline_parallel_single_step(**_): return {value}")
