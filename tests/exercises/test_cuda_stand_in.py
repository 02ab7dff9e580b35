"""Code written for GPUs runs unchanged on the CPU, and a move between devices copies."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

from grader.exercises.cuda_stand_in import CudaStandIn

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what is stood in for")


@pytest.fixture
def on_cuda(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    with CudaStandIn():
        yield


def shares(one, other):
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


MOVES = {
    ".to('cuda')": lambda t: t.to("cuda"),
    ".to('cuda:1')": lambda t: t.to("cuda:1"),
    ".to('cpu')": lambda t: t.to("cpu"),
    ".to(device)": lambda t: t.to(torch.device("cuda", 0)),
    ".to(device=)": lambda t: t.to(device="cuda"),
    ".to(number)": lambda t: t.to(1),
    ".to(device, dtype)": lambda t: t.to("cuda", torch.float32),
    ".to(device, non_blocking)": lambda t: t.to("cuda", non_blocking=True),
    ".cuda()": lambda t: t.cuda(),
    ".cuda(number)": lambda t: t.cuda(1, non_blocking=True),
    ".cpu()": lambda t: t.cpu(),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_move_to_a_device_copies(on_cuda, move):
    weight = torch.arange(4.0)
    moved = move(weight)
    assert moved.device.type == "cpu"
    assert moved.equal(weight)
    assert not shares(moved, weight)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_gradients_flow_through_a_move(on_cuda, move):
    weight = torch.ones(3, requires_grad=True)
    (move(weight) * 2).sum().backward()
    assert weight.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_change_of_dtype_alone_is_left_to_torch(on_cuda):
    weight = torch.ones(2)
    assert weight.to(torch.float64).dtype == torch.float64
    assert weight.to(torch.float32) is weight
    assert weight.to(weight) is weight
    assert weight.to(dtype=torch.float16).dtype == torch.float16


@pytest.mark.parametrize("device", ["cuda", "cuda:3", torch.device("cuda"), torch.device("cuda", 1), 0, 3])
def test_tensors_are_made_on_any_gpu(on_cuda, device):
    made = [
        torch.zeros(2, device=device),
        torch.tensor([1.0], device=device),
        torch.randn(2, 2, device=device),
        torch.empty_like(torch.ones(2), device=device),
        torch.ones(2).new_zeros(2, device=device),
        torch.arange(3, device=device),
        torch.eye(2, device=device),
        torch.full((2,), 1.0, device=device),
    ]
    assert {tensor.device.type for tensor in made} == {"cpu"}


@pytest.mark.parametrize(
    "move", [lambda m: m.cuda(), lambda m: m.to("cuda"), lambda m: m.to(0), lambda m: m.cpu()]
)
def test_a_module_that_moves_has_parameters_of_its_own(on_cuda, move):
    initial = torch.ones(2, 2)
    model = nn.Module()
    model.W = nn.Parameter(initial)
    move(model)
    assert isinstance(model.W, nn.Parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.W.sum().backward()
    optimizer.step()
    assert model.W.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert initial.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_backward_pass_may_make_tensors_on_the_gpu(on_cuda):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.cuda()

        @staticmethod
        def backward(ctx, grad):
            return torch.full_like(grad, 2.0, device="cuda") + torch.zeros(3, device="cuda").to("cuda")

    x = torch.ones(3, requires_grad=True)
    Doubled.apply(x).sum().backward()
    torch.autograd.backward(Doubled.apply(x).sum())
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    (gradient,) = torch.autograd.grad(Doubled.apply(x).sum(), x)
    assert gradient.tolist() == [2.0, 2.0, 2.0]


def test_default_devices_may_be_gpus(on_cuda):
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).device.type == "cpu"
        assert nn.Linear(2, 2).weight.device.type == "cpu"
    finally:
        torch.set_default_device(None)
    with torch.device("cuda:1"):
        assert torch.randn(2).device.type == "cpu"


def test_questions_about_gpus_are_answered(on_cuda):
    assert torch.cuda.is_available()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (4, 1)
    torch.cuda.set_device(3)
    torch.cuda.synchronize()
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0
    assert torch.device("cuda" if torch.cuda.is_available() else "cpu").type == "cuda"
    assert torch.ones(2).pin_memory().tolist() == [1.0, 1.0]


def test_random_numbers_are_the_cpu_s(on_cuda):
    torch.manual_seed(3)
    torch.cuda.manual_seed(3)
    first = torch.randn(4, device="cuda")
    torch.manual_seed(3)
    assert torch.randn(4).equal(first)


@pytest.mark.parametrize("backend", ["nccl", "cpu:gloo,cuda:nccl", None, "gloo"])
def test_a_process_group_for_gpus_is_one_of_gloo(on_cuda, backend, tmp_path):
    where = dict(init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    dist.init_process_group(backend, device_id=torch.device("cuda", 0), **where)
    try:
        assert dist.get_backend() == "gloo"
        dist.init_process_group("nccl")  # the grader's own set-up came first
        tensor = torch.ones(2, device="cuda")
        dist.all_reduce(tensor, group=dist.new_group([0], backend="nccl"))
        dist.barrier(device_ids=[0])
        assert tensor.tolist() == [1.0, 1.0]
    finally:
        dist.destroy_process_group()


def test_everything_is_as_before_afterwards_even_after_an_error():
    names = [name for name in vars(torch.cuda) if not name.startswith("__")]
    before = {name: getattr(torch.cuda, name) for name in names}
    others = [dist.init_process_group, dist.new_group, dist.barrier, torch.set_default_device]
    stand_in = CudaStandIn()
    for _ in range(2):  # it can be entered again
        with pytest.raises(ZeroDivisionError), stand_in:
            assert torch.cuda.is_available()
            raise ZeroDivisionError
    assert {name: getattr(torch.cuda, name) for name in names} == before
    assert [dist.init_process_group, dist.new_group, dist.barrier, torch.set_default_device] == others
    weight = torch.ones(2)
    assert weight.to("cpu") is weight
    assert weight.cpu() is weight
