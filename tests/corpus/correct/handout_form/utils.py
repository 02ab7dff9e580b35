import os

import torch
import torch.distributed as dist


def init_distributed():
    """Start the process group. torchrun sets the three variables."""
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    node = os.environ.get("SLURM_NODEID", "N/A")

    # one GPU for every process
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl")

    print(f"[init] rank {rank} runs on node {node}, GPU {local_rank}")
    dist.barrier()
    if rank == 0:
        print("[init] everybody is ready")
    return rank, local_rank, world_size


def create_batch(batch_size, input_dim, output_dim, seed=42, device="cuda"):
    """Random inputs (batch_size, input_dim) and targets (batch_size, output_dim)."""
    torch.manual_seed(seed)
    inputs = torch.randn(batch_size, input_dim, device=device)
    targets = torch.randn(batch_size, output_dim, device=device)
    return inputs, targets


def create_layers(num_layers, dim, seed=42):
    """Random square weights for the deep model."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(dim, dim, generator=generator) * (2 / dim) ** 0.5 for _ in range(num_layers)]


def check(tensor, expected_shape):
    """Assert the shape of a tensor; sizes <= 0 match anything."""
    if tensor is None:
        return
    assert isinstance(tensor, torch.Tensor), "not a tensor"
    actual = list(tensor.detach().shape)
    assert len(actual) == len(expected_shape), f"wanted {expected_shape}, have {actual}"
    for have, want in zip(actual, expected_shape):
        assert want <= 0 or have == want, f"wanted {expected_shape}, have {actual}"


def compare_tensors(tensor1, tensor2, tol=1e-5, prefix=""):
    """Print how different two tensors are."""
    diff = (tensor1 - tensor2).abs()
    close = torch.allclose(tensor1, tensor2, rtol=tol, atol=tol)
    rank = dist.get_rank() if dist.is_initialized() else 0
    prefix = f"[{prefix}]" if prefix else ""
    print(
        f"{prefix}[Rank {rank}] Tensors match: {close} | Max diff: {diff.max().item():.6e} "
        f"| Mean diff: {diff.mean().item():.6e}",
        flush=True,
    )
