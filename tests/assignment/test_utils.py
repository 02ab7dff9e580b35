"""The staff's utils.py: same data everywhere, and comparisons that cannot be fooled by shapes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

UTILS = Path(__file__).parents[2] / "assignment" / "utils.py"


@pytest.fixture(scope="module")
def utils() -> ModuleType:
    # By path: "utils" is too common a name to put on sys.path for the whole test run.
    spec = importlib.util.spec_from_file_location("staff_utils", UTILS)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_batch_is_drawn_as_in_the_handout(utils: ModuleType) -> None:
    inputs, targets = utils.create_batch(6, 4, 2, seed=3, device="cpu")
    torch.manual_seed(3)
    assert torch.equal(inputs, torch.randn(6, 4))
    assert torch.equal(targets, torch.randn(6, 2))


def test_two_batches_of_one_seed_are_equal_and_share_no_memory(utils: ModuleType) -> None:
    first, _ = utils.create_batch(6, 4, 2, device="cpu")
    second, _ = utils.create_batch(6, 4, 2, device="cpu")
    assert torch.equal(first, second)
    first.zero_()
    assert second.abs().sum() > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what the test does without")
def test_a_batch_for_a_gpu_stays_on_the_cpu_where_there_is_none(utils: ModuleType) -> None:
    inputs, targets = utils.create_batch(6, 4, 2)
    assert inputs.device.type == targets.device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what the test does without")
@pytest.mark.parametrize("wanted", ["cuda", "cuda:1", torch.device("cuda")])
def test_without_a_gpu_the_device_is_the_cpu(utils: ModuleType, wanted: str) -> None:
    assert utils.pick_device(wanted) == "cpu"


def test_a_device_other_than_a_gpu_is_taken_as_it_is(utils: ModuleType) -> None:
    assert utils.pick_device("cpu") == "cpu"


def test_layers_have_he_scale_and_leave_the_global_random_state_alone(utils: ModuleType) -> None:
    state = torch.get_rng_state()
    layers = utils.create_layers(3, 200, seed=5)
    assert torch.equal(torch.get_rng_state(), state)
    assert [layer.shape for layer in layers] == [(200, 200)] * 3
    assert not torch.equal(layers[0], layers[1])
    assert all(abs(layer.std().item() - 0.1) < 0.01 for layer in layers)
    assert all(map(torch.equal, layers, utils.create_layers(3, 200, seed=5)))


@pytest.mark.parametrize("shape", [[2, 3], (2, 3), (-1, 3), (0, 0)])
def test_check_accepts_the_shape_and_wildcards(utils: ModuleType, shape: list[int]) -> None:
    utils.check(torch.zeros(2, 3), shape)


@pytest.mark.parametrize("shape", [[3, 2], [2], [2, 3, 1], []])
def test_check_refuses_another_shape_and_names_both(utils: ModuleType, shape: list[int]) -> None:
    with pytest.raises(AssertionError) as error:
        utils.check(torch.zeros(2, 3), shape)
    assert str(shape) in str(error.value)
    assert "[2, 3]" in str(error.value)


def test_check_lets_none_through_and_refuses_what_is_no_tensor(utils: ModuleType) -> None:
    utils.check(None, [2, 3])
    with pytest.raises(AssertionError, match="list"):
        utils.check([1.0, 2.0], [2])


def test_a_comparison_is_printed_in_the_handouts_format_and_returned(
    utils: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    result = utils.compare_tensors(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), prefix="DataParallel")
    assert result == (False, 0.5, 0.25)
    assert (result.match, result.max_diff, result.mean_diff) == result
    assert capsys.readouterr().out == (
        "[DataParallel][Rank 0] Tensors match: False | Max diff: 5.000000e-01 | Mean diff: 2.500000e-01\n"
    )


def test_a_comparison_without_prefix_begins_with_the_rank(
    utils: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert utils.compare_tensors(torch.ones(2, requires_grad=True), torch.ones(2)).match is True
    assert capsys.readouterr().out.startswith("[Rank 0] Tensors match: True | Max diff: 0.000000e+00 |")


@pytest.mark.parametrize(("tol", "match"), [(1e-5, False), (1e-2, True)])
def test_the_tolerance_decides(utils: ModuleType, tol: float, match: bool) -> None:
    assert utils.compare_tensors(torch.tensor([1.0]), torch.tensor([1.001]), tol=tol).match is match


def test_not_a_number_never_matches(utils: ModuleType) -> None:
    nan = torch.tensor([float("nan")])
    assert utils.compare_tensors(nan, nan).match is False


def test_shapes_that_would_broadcast_are_refused_and_both_are_named(utils: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"\[4, 3\].*\[3\]"):
        utils.compare_tensors(torch.zeros(4, 3), torch.zeros(3))


def test_two_empty_tensors_are_not_a_match(utils: ModuleType) -> None:
    with pytest.raises(ValueError, match="no element"):
        utils.compare_tensors(torch.zeros(0, 3), torch.zeros(0, 3))


def test_other_dtypes_and_other_types_are_refused(utils: ModuleType) -> None:
    with pytest.raises(TypeError, match=r"float32.*float64"):
        utils.compare_tensors(torch.zeros(2), torch.zeros(2, dtype=torch.float64))
    with pytest.raises(TypeError, match="NoneType"):
        utils.compare_tensors(torch.zeros(2), None)


def test_without_torchrun_the_message_says_how_to_start() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "LOCAL_RANK")}
    run = subprocess.run(
        [sys.executable, "-c", "import utils; utils.init_distributed()"],
        cwd=UTILS.parent,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 1
    assert "RANK" in run.stderr
    assert "torchrun --standalone --nproc_per_node 4 assignment4.py" in run.stderr
