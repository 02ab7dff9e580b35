"""Assignment 4: one gradient step, computed in six ways that must agree.

A linear map is trained for a single step of SGD: on one device, in micro-batches, with the batch split over
the ranks, with the columns of the weight split over the ranks, and with its rows split over the ranks.
A deeper model is then split by layers. Run it with

    torchrun --standalone --nproc_per_node 4 assignment4.py
"""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from utils import check, compare_tensors, create_batch, create_layers, init_distributed, pick_device

rank, local_rank, world_size = init_distributed()
device = pick_device("cuda")

global_batch_size = 128
local_batch_size = global_batch_size // world_size  # rows of the batch for one rank of part 3
input_dim = 64
output_dim = 32
seed = 42
num_layers = max(4, world_size)  # part 6: at least one layer for every stage
learning_rate = 0.5


class CustomLinearLayer(nn.Module):
    """A linear map without a bias: X [batch, in_dim] @ W [in_dim, out_dim] -> [batch, out_dim]."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        # A copy: the update works in place, and the caller's weight is not ours to change.
        self.W = nn.Parameter(weight.clone())
        self.in_dim, self.out_dim = weight.shape

    def forward(self, X):
        check(X, (-1, self.in_dim))
        out = X @ self.W
        check(out, (X.shape[0], self.out_dim))
        return out


# Part 1: the baseline. One device, the whole batch.


def single_step(seed=seed, device=device):
    """Update the weight once. Returns it before (on the CPU) and after, both [input_dim, output_dim]."""
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)

    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    # Draw the batch: global_batch_size rows, on this device.
    # TODO (1 line): inputs, targets = ...
    raise NotImplementedError("TODO in single_step (1 line): inputs, targets = ...")
    check(inputs, (global_batch_size, input_dim))
    check(targets, (global_batch_size, output_dim))

    # TODO (1 line): outputs = ... (of the model)
    raise NotImplementedError("TODO in single_step (1 line): outputs = ... (of the model)")
    check(outputs, (global_batch_size, output_dim))

    # The mean over rows and columns of the squared error, from loss_fn.
    # TODO (1 line): loss = ...
    raise NotImplementedError("TODO in single_step (1 line): loss = ...")
    check(loss, ())

    # TODO (1 line): clear the gradients of all parameters
    raise NotImplementedError("TODO in single_step (1 line): clear the gradients of all parameters")

    # TODO (1 line): compute the gradients
    raise NotImplementedError("TODO in single_step (1 line): compute the gradients")

    # TODO (1 line): update the parameters
    raise NotImplementedError("TODO in single_step (1 line): update the parameters")

    return initial_weight, model.W.detach()


# Part 2: gradient accumulation. One device, one micro-batch after the other.


def single_step_with_grad_accumulation(seed=seed, device=device, accumulation_steps=4):
    """Update the weight once, from gradients of ``accumulation_steps`` micro-batches.

    Returns the updated weight, [input_dim, output_dim].
    """
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)

    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    micro_batch_size = global_batch_size // accumulation_steps

    optimizer.zero_grad()
    for i in range(accumulation_steps):
        # Where do the rows of micro-batch i begin, and where do they end?
        # TODO (2 lines): start_idx = ... and end_idx = ...
        raise NotImplementedError(
            "TODO in single_step_with_grad_accumulation (2 lines): start_idx = ... and end_idx = ..."
        )
        micro_inputs = inputs[start_idx:end_idx]
        micro_targets = targets[start_idx:end_idx]
        check(micro_inputs, (micro_batch_size, input_dim))
        check(micro_targets, (micro_batch_size, output_dim))

        # TODO (1 line): micro_outputs = ...
        raise NotImplementedError("TODO in single_step_with_grad_accumulation (1 line): micro_outputs = ...")
        check(micro_outputs, (micro_batch_size, output_dim))

        # TODO (1 line): micro_loss = ...
        raise NotImplementedError("TODO in single_step_with_grad_accumulation (1 line): micro_loss = ...")
        check(micro_loss, ())

        # backward() adds to .grad, but the loss of the batch is the mean of these losses, not their sum.
        # TODO (1 line): scaled_loss = ...
        raise NotImplementedError("TODO in single_step_with_grad_accumulation (1 line): scaled_loss = ...")
        scaled_loss.backward()
    optimizer.step()

    return model.W.detach()


# Part 3: data parallel. Every rank has the whole weight and its own rows of the batch.


def data_parallel_single_step(seed=seed, device=device):
    """Update the weight once, from gradients averaged over the ranks.

    Returns the updated weight, [input_dim, output_dim], on every rank.
    """
    # The same seed everywhere: the replicas begin equal, and equal updates keep them so.
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)

    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    full_inputs, full_targets = create_batch(
        global_batch_size, input_dim, output_dim, seed=seed, device=device
    )
    start_idx = rank * local_batch_size
    end_idx = start_idx + local_batch_size
    local_inputs = full_inputs[start_idx:end_idx]
    local_targets = full_targets[start_idx:end_idx]
    check(local_inputs, (local_batch_size, input_dim))
    check(local_targets, (local_batch_size, output_dim))

    optimizer.zero_grad()
    local_loss = loss_fn(model(local_inputs), local_targets)
    local_loss.backward()

    # Until here the ranks' gradients differ: each is the mean over its own rows.
    for param in model.parameters():
        # TODO (1 line): sum this gradient over all ranks
        raise NotImplementedError(
            "TODO in data_parallel_single_step (1 line): sum this gradient over all ranks"
        )
        param.grad.div_(world_size)
    optimizer.step()

    return model.W.detach()


# Part 4: column parallel. Every rank has the whole batch and some columns of the weight.


class BroadcastParallel(torch.autograd.Function):
    """f of Megatron (https://arxiv.org/abs/1909.08053): identity forward, all-reduce backward.

    Every rank uses the same x [batch, dim], so its gradient is the sum of what the ranks make of it.
    """

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        # Into a contiguous copy: collectives misread strided memory, and autograd's buffer is not ours.
        grad_input = grad_output.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(grad_input, op=dist.ReduceOp.SUM)
        return grad_input


class GatherParallel(torch.autograd.Function):
    """All-gather forward, split backward: x [batch, dim / world_size] -> [batch, dim].

    Every rank computes the same loss from the whole output, so its own columns of the gradient are
    already complete: summing them over the ranks would count them world_size times.
    """

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        shards = [torch.empty_like(x) for _ in range(world_size)]
        dist.all_gather(shards, x)
        return torch.cat(shards, dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        local_dim = grad_output.shape[-1] // world_size
        return torch.split(grad_output, local_dim, dim=-1)[rank].contiguous()


class FullColumnParallelLinear(nn.Module):
    """A linear map whose output columns are split over the ranks and gathered at the end.

    ``weight`` is the whole one, [in_dim, out_dim]; this rank keeps W [in_dim, out_dim / world_size].
    """

    def __init__(self, weight: torch.Tensor, world_size: int, rank: int):
        super().__init__()
        self.in_dim, self.out_dim = weight.shape
        assert self.out_dim % world_size == 0, "out_dim must be a multiple of world_size"
        self.local_out_dim = self.out_dim // world_size

        start = rank * self.local_out_dim
        end = start + self.local_out_dim
        self.W = nn.Parameter(weight[:, start:end].clone(memory_format=torch.contiguous_format))

    def forward(self, X):
        """X [batch, in_dim], the same on every rank -> [batch, out_dim], the same on every rank."""
        check(X, (-1, self.in_dim))

        # Forward, every rank gets X; backward, X gets the errors of every rank.
        # TODO (1 line): X = ...
        raise NotImplementedError("TODO in FullColumnParallelLinear.forward (1 line): X = ...")

        local_out = X @ self.W
        check(local_out, (X.shape[0], self.local_out_dim))

        # Forward, the ranks' columns come together; backward, a rank keeps the errors of its own columns.
        # TODO (1 line): out = ...
        raise NotImplementedError("TODO in FullColumnParallelLinear.forward (1 line): out = ...")
        check(out, (X.shape[0], self.out_dim))
        return out


def full_column_parallel_single_step(seed=seed, device=device):
    """Update the weight once, each rank its own columns.

    Returns the whole updated weight, [input_dim, output_dim], on every rank.
    """
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)

    model = FullColumnParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    outputs = model(inputs)
    check(outputs, (global_batch_size, output_dim))

    optimizer.zero_grad()
    loss_fn(outputs, targets).backward()
    optimizer.step()

    local_updated_weight = model.W.detach()
    check(local_updated_weight, (input_dim, output_dim // world_size))

    # all_gather writes into a list with room for every rank's shard.
    # TODO (1 line): weight_shards = ...
    raise NotImplementedError("TODO in full_column_parallel_single_step (1 line): weight_shards = ...")
    dist.all_gather(weight_shards, local_updated_weight)
    global_updated_weight = torch.cat(weight_shards, dim=1)
    check(global_updated_weight, (input_dim, output_dim))
    return global_updated_weight


# Part 5: row parallel. Every rank has some rows of the weight, and the matching columns of the batch.


class ScatterParallel(torch.autograd.Function):
    """Split forward, all-gather backward: x [batch, dim] -> this rank's columns, [batch, dim / world_size].

    The mirror image of GatherParallel: each rank knows the gradient of its own columns only.
    """

    @staticmethod
    def forward(ctx, x):
        # TODO (2 lines): return this rank's columns of x, contiguous
        raise NotImplementedError(
            "TODO in ScatterParallel.forward (2 lines): return this rank's columns of x, contiguous"
        )

    @staticmethod
    def backward(ctx, grad_output):
        # TODO (4 lines): return the gradient of the whole x, from all ranks
        raise NotImplementedError(
            "TODO in ScatterParallel.backward (4 lines): return the gradient of the whole x, from all ranks"
        )


class ReduceParallel(torch.autograd.Function):
    """g of Megatron: all-reduce forward, identity backward.

    The mirror image of BroadcastParallel: y is the sum of the ranks' x [batch, dim], so the gradient of each
    x is that of y, and every rank has it already.
    """

    @staticmethod
    def forward(ctx, x):
        # TODO (3 lines): return the sum of the ranks' x in a new tensor
        raise NotImplementedError(
            "TODO in ReduceParallel.forward (3 lines): return the sum of the ranks' x in a new tensor"
        )

    @staticmethod
    def backward(ctx, grad_output):
        # TODO (1 line): return the gradient of this rank's x
        raise NotImplementedError(
            "TODO in ReduceParallel.backward (1 line): return the gradient of this rank's x"
        )


class RowParallelLinear(nn.Module):
    """A linear map whose input rows are split over the ranks: every rank computes one term of the output.

    ``weight`` is the whole one, [in_dim, out_dim]; this rank keeps W [in_dim / world_size, out_dim].
    """

    def __init__(self, weight: torch.Tensor, world_size: int, rank: int):
        super().__init__()
        self.in_dim, self.out_dim = weight.shape
        assert self.in_dim % world_size == 0, "in_dim must be a multiple of world_size"
        self.local_in_dim = self.in_dim // world_size

        # Keep this rank's rows of the weight: a copy, as in FullColumnParallelLinear.
        # TODO (3 lines): self.W = nn.Parameter(...)
        raise NotImplementedError("TODO in RowParallelLinear.__init__ (3 lines): self.W = nn.Parameter(...)")
        check(self.W, (self.local_in_dim, self.out_dim))

    def forward(self, X):
        """X [batch, in_dim], the same on every rank -> [batch, out_dim], the same on every rank."""
        check(X, (-1, self.in_dim))

        # Forward, a rank takes the columns of X that meet its rows of W; backward, X gets all its errors.
        # TODO (1 line): local_X = ...
        raise NotImplementedError("TODO in RowParallelLinear.forward (1 line): local_X = ...")
        check(local_X, (X.shape[0], self.local_in_dim))

        local_out = local_X @ self.W
        check(local_out, (X.shape[0], self.out_dim))

        # Forward, the ranks' terms are added up; backward, each term gets the error of the sum.
        # TODO (1 line): out = ...
        raise NotImplementedError("TODO in RowParallelLinear.forward (1 line): out = ...")
        check(out, (X.shape[0], self.out_dim))
        return out


def row_parallel_single_step(seed=seed, device=device):
    """Update the weight once, each rank its own rows.

    Returns the whole updated weight, [input_dim, output_dim], on every rank.
    """
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)

    model = RowParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    outputs = model(inputs)
    check(outputs, (global_batch_size, output_dim))

    optimizer.zero_grad()
    loss_fn(outputs, targets).backward()
    optimizer.step()

    local_updated_weight = model.W.detach()
    check(local_updated_weight, (input_dim // world_size, output_dim))

    # TODO (3 lines): global_updated_weight = ... (from all ranks' shards)
    raise NotImplementedError(
        "TODO in row_parallel_single_step (3 lines): global_updated_weight = ... (from all ranks' shards)"
    )
    check(global_updated_weight, (input_dim, output_dim))
    return global_updated_weight


# Part 6: pipeline parallel. Every rank has some layers of a deeper model; micro-batches pass through them.


def deep_single_step(seed=seed, device=device):
    """The baseline of part 6: update all layers once, on one device, with the whole batch.

    Returns the updated weights of all layers, a list of ``num_layers`` tensors [input_dim, input_dim].
    """
    weights = create_layers(num_layers, input_dim, seed)
    layers = nn.ModuleList([CustomLinearLayer(weight) for weight in weights]).to(device)
    optimizer = optim.SGD(layers.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)

    activations = inputs
    for layer in layers:
        activations = F.gelu(layer(activations))

    optimizer.zero_grad()
    loss_fn(activations, targets).backward()
    optimizer.step()
    return [layer.W.detach() for layer in layers]


class PipelineStage(nn.Module):
    """Consecutive layers of the deep model, a GELU after each: X [rows, dim] -> [rows, dim].

    ``weights`` is the list of this stage's weights, each [dim, dim].
    """

    def __init__(self, weights: list[torch.Tensor]):
        super().__init__()
        self.layers = nn.ModuleList([CustomLinearLayer(weight) for weight in weights])

    def forward(self, X):
        # TODO (3 lines): return X after every layer and its F.gelu
        raise NotImplementedError(
            "TODO in PipelineStage.forward (3 lines): return X after every layer and its F.gelu"
        )


def pipeline_parallel_single_step(seed=seed, device=device, num_micro_batches=4):
    """Update all layers once, each rank the layers of its own stage. The schedule is GPipe's.

    All micro-batches go forwards through the stages, then all go backwards. Returns the updated weights of
    this rank's stage, a list of ``num_layers / world_size`` tensors [input_dim, input_dim] in layer order.
    """
    assert num_layers % world_size == 0, "num_layers must be a multiple of world_size"
    assert global_batch_size % num_micro_batches == 0, "the micro-batches must be of equal size"
    micro_batch_size = global_batch_size // num_micro_batches
    micro_shape = (micro_batch_size, input_dim)
    is_first, is_last = rank == 0, rank == world_size - 1

    weights = create_layers(num_layers, input_dim, seed)
    # Stage 0 takes the first num_layers / world_size layers, stage 1 the next ones, and so on.
    # TODO (2 lines): stage_weights = ... (those of this rank's layers)
    raise NotImplementedError(
        "TODO in pipeline_parallel_single_step (2 lines): stage_weights = ... (those of this rank's layers)"
    )
    stage = PipelineStage(stage_weights).to(device)
    optimizer = optim.SGD(stage.parameters(), lr=learning_rate)
    loss_fn = nn.MSELoss(reduction="mean")

    # Only the first stage reads the inputs, and only the last one the targets.
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    micro_inputs = inputs.split(micro_batch_size)
    micro_targets = targets.split(micro_batch_size)

    # What entered and what left this stage, for each micro-batch: the backward pass needs both.
    stage_inputs, stage_outputs = [], []

    optimizer.zero_grad()
    for i in range(num_micro_batches):
        # The first stage reads micro-batch i. Every other one receives it from the stage before; it asks for
        # the gradient of what it received, because that stage will need it.
        # TODO (6 lines): x = ... (what enters this stage)
        raise NotImplementedError(
            "TODO in pipeline_parallel_single_step (6 lines): x = ... (what enters this stage)"
        )
        check(x, micro_shape)
        out = stage(x)
        check(out, micro_shape)

        # What leaves the last stage becomes this micro-batch's share of the loss; what leaves any other one
        # goes to the next stage, as plain values: the graph ends at the border of a process.
        # TODO (4 lines): out = ... (last stage), or send out (any other)
        raise NotImplementedError(
            "TODO in pipeline_parallel_single_step (4 lines): out = ... (last stage), or send out (any other)"
        )
        stage_inputs.append(x)
        stage_outputs.append(out)

    for x, out in zip(stage_inputs, stage_outputs, strict=True):
        # The last stage begins with the loss; every other one needs the gradient of what it sent.
        # TODO (6 lines): go backwards through this stage
        raise NotImplementedError(
            "TODO in pipeline_parallel_single_step (6 lines): go backwards through this stage"
        )

        # TODO (2 lines): send x's gradient to the stage before, if any
        raise NotImplementedError(
            "TODO in pipeline_parallel_single_step (2 lines): send x's gradient to the stage before, if any"
        )
    optimizer.step()

    return [layer.W.detach() for layer in stage.layers]


def announce(text):
    """Print a line once, not once for every rank."""
    if rank == 0:
        print(f"[Rank {rank}] {text}", flush=True)


def main():
    """Run every part and compare it with its baseline. All comparisons but the very first must match."""
    announce("Part 1: the baseline. The weight must change, so this comparison must not match.")
    if rank == 0:
        initial_weight, updated_weight = single_step()
        compare_tensors(initial_weight, updated_weight.cpu())
    else:
        updated_weight = torch.zeros(input_dim, output_dim, device=device)
    # From here on every rank can compare with the baseline.
    dist.broadcast(updated_weight, src=0)

    announce("Part 2: gradient accumulation.")
    if rank == 0:
        accumulated_weight = single_step_with_grad_accumulation()
        compare_tensors(updated_weight.cpu(), accumulated_weight.cpu())

    announce("Part 3: data parallel.")
    data_parallel_weight = data_parallel_single_step()
    compare_tensors(updated_weight.cpu(), data_parallel_weight.cpu(), prefix="DataParallel")

    announce("Part 4: column parallel.")
    column_parallel_weight = full_column_parallel_single_step()
    compare_tensors(updated_weight.cpu(), column_parallel_weight.cpu(), prefix="FullColumnParallel")

    announce("Part 5: row parallel.")
    row_parallel_weight = row_parallel_single_step()
    compare_tensors(updated_weight.cpu(), row_parallel_weight.cpu(), prefix="RowParallel")

    announce("Part 6: pipeline parallel.")
    deep_weights = deep_single_step()
    stage_weights = pipeline_parallel_single_step()
    first_layer = rank * len(stage_weights)
    for i, stage_weight in enumerate(stage_weights):
        compare_tensors(deep_weights[first_layer + i].cpu(), stage_weight.cpu(), prefix="Pipeline")

    dist.destroy_process_group()
    print(f"[Rank {rank}] done", flush=True)


if __name__ == "__main__":
    main()
