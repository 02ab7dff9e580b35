"""What every assignment shares: starting the ranks, drawing the data, checking shapes, comparing results.

This file is complete. There is nothing to fill in here, and the grader uses its own copy of it.
"""

import os
from typing import NamedTuple

import torch
import torch.distributed as dist


def init_distributed():
    """Join the process group that `torchrun` started, and return ``(rank, local_rank, world_size)``.

    Where every rank of this machine can have a GPU of its own, the ranks compute there and talk over
    NCCL. Elsewhere, on a laptop for instance, they compute on the CPU and talk over gloo. A second call
    only returns the three numbers again.

    Raises RuntimeError when the file was not started by `torchrun`.
    """
    if dist.is_initialized():
        rank = dist.get_rank()
        return rank, int(os.environ.get("LOCAL_RANK", rank)), dist.get_world_size()

    missing = [name for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE") if name not in os.environ]
    if missing:
        raise RuntimeError(
            f"{', '.join(missing)} not set: this file runs as several ranks, which torchrun starts. "
            "Try: torchrun --standalone --nproc_per_node 4 assignment4.py"
        )
    rank, local_rank, world_size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", world_size))
    node = os.environ.get("SLURM_NODEID", "0")

    if torch.cuda.is_available() and torch.cuda.device_count() >= ranks_here:
        place = f"GPU {local_rank}"
        torch.cuda.set_device(local_rank)
        # Some containers turn TF32 on. Its rounding is coarser than the tolerance of the comparisons.
        torch.set_float32_matmul_precision("highest")
        # A pipeline sends and receives in order anyway; without this NCCL remarks on it on every rank.
        os.environ.setdefault("TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false")
        dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    else:
        place = "the CPU"
        dist.init_process_group("gloo")

    _print_line(f"[Distributed Init] Rank {rank} of {world_size} is on node {node}, on {place}.")
    dist.barrier()
    if rank == 0:
        _print_line(f"[Rank {rank}] All ranks are here.")
    return rank, local_rank, world_size


def pick_device(wanted="cuda"):
    """Return ``wanted``, or ``"cpu"`` where a GPU is wanted and this rank has none to itself."""
    if torch.device(wanted).type != "cuda":
        return wanted
    # Ranks over gloo are more than the GPUs of their machine, if it has any (see init_distributed).
    has_no_own_gpu = dist.is_initialized() and dist.get_backend() == "gloo"
    return "cpu" if has_no_own_gpu or not torch.cuda.is_available() else wanted


def create_batch(batch_size, input_dim, output_dim, seed=42, device="cuda"):
    """Draw a batch of random inputs and regression targets: the same one on every rank and every device.

    Returns new tensors ``(inputs, targets)``: [batch_size, input_dim] and [batch_size, output_dim].
    The global random state is re-seeded with ``seed``.
    """
    # Generators of the CPU and of a GPU disagree, so the values always come from the CPU's.
    torch.manual_seed(seed)
    inputs = torch.randn(batch_size, input_dim)
    targets = torch.randn(batch_size, output_dim)

    device = pick_device(device)
    return inputs.to(device), targets.to(device)


def create_layers(num_layers, dim, seed=42):
    """Draw the weights of a deep model: a list of ``num_layers`` CPU tensors, each [dim, dim].

    He scale (standard deviation sqrt(2 / dim)) keeps activations and gradients alive through many layers.
    The global random state is left as it is.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = (2 / dim) ** 0.5
    return [torch.randn(dim, dim, generator=generator) * scale for _ in range(num_layers)]


def check(tensor, expected_shape):
    """Stop with an AssertionError unless ``tensor`` has ``expected_shape``.

    A dimension that is zero or negative in ``expected_shape`` may have any size. None is let through.

        check(torch.zeros(32, 64), [32, 64])    # right
        check(torch.zeros(32, 64), [-1, 64])    # right: any number of rows
        check(torch.zeros(32, 64), [32, 128])   # AssertionError
    """
    if tensor is None:
        return
    assert isinstance(tensor, torch.Tensor), f"expected a tensor, got {type(tensor).__name__}"
    assert isinstance(expected_shape, list | tuple), "the expected shape must be a list or a tuple"

    wanted, found = list(expected_shape), list(tensor.shape)
    fits = len(wanted) == len(found) and all(w <= 0 or w == f for w, f in zip(wanted, found, strict=True))
    assert fits, f"expected a tensor of shape {wanted}, got {found}"


class Comparison(NamedTuple):
    """How far two tensors are apart: the largest and the mean absolute difference of their elements."""

    match: bool
    max_diff: float
    mean_diff: float


def compare_tensors(tensor1, tensor2, tol=1e-5, prefix=""):
    """Print in one line how far two tensors are apart, and return it as a `Comparison`.

    They match when every pair of elements is within ``tol``, absolute plus relative to ``tensor2``
    (`torch.allclose` with ``rtol = atol = tol``).

    Raises TypeError unless both are tensors of one dtype, and ValueError unless they have one shape with
    at least one element: a weight that agrees only after broadcasting is not the same weight.
    """
    for tensor in (tensor1, tensor2):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"compare_tensors compares two tensors, but one is {type(tensor).__name__}.")
    shape1, shape2 = list(tensor1.shape), list(tensor2.shape)
    if shape1 != shape2:
        raise ValueError(f"These tensors cannot be equal: the first has shape {shape1}, the second {shape2}.")
    if tensor1.dtype != tensor2.dtype:
        raise TypeError(f"The first tensor has dtype {tensor1.dtype}, the second has {tensor2.dtype}.")
    if tensor1.numel() == 0:
        raise ValueError(f"Both tensors have shape {shape1}: there is no element to compare.")

    tensor1, tensor2 = tensor1.detach().cpu(), tensor2.detach().cpu()
    difference = (tensor1 - tensor2).abs()
    result = Comparison(
        match=torch.allclose(tensor1, tensor2, rtol=tol, atol=tol),
        max_diff=difference.max().item(),
        mean_diff=difference.mean().item(),
    )

    rank = dist.get_rank() if dist.is_initialized() else 0
    label = f"[{prefix}]" if prefix else ""
    _print_line(
        f"{label}[Rank {rank}] Tensors match: {result.match} "
        f"| Max diff: {result.max_diff:.6e} | Mean diff: {result.mean_diff:.6e}"
    )
    return result


def _print_line(text):
    """Print a line in one piece: torchrun's ranks share a terminal, and print() writes its newline apart."""
    print(f"{text}\n", end="", flush=True)
