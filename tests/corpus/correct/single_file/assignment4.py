# Starts the process group itself, and updates the weights by hand instead of with an optimizer.
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from utils import compare_tensors, create_batch, create_layers

rank = int(os.environ["RANK"])
local_rank = int(os.environ["LOCAL_RANK"])
world_size = int(os.environ["WORLD_SIZE"])

if torch.cuda.is_available():
    torch.cuda.set_device(local_rank)
    device = f"cuda:{local_rank}"
    dist.init_process_group(backend="nccl")
else:
    device = "cpu"
    dist.init_process_group(backend="gloo")
print(f"rank {rank} of {world_size} on {device}")
dist.barrier()

global_batch_size = 128
local_batch_size = global_batch_size // world_size
input_dim, output_dim = 64, 32
seed = 42
num_layers = max(4, world_size)
lr = 0.5


class CustomLinearLayer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.W = nn.Parameter(weight.clone())

    def forward(self, X):
        return F.linear(X, self.W.t())


@torch.no_grad()
def update(module):
    for p in module.parameters():
        p -= lr * p.grad


def make_weight(seed):
    torch.manual_seed(seed)
    return torch.randn(input_dim, output_dim)


# Part 1
def single_step(seed=seed, device=device):
    initial_weight = make_weight(seed)
    layer = CustomLinearLayer(initial_weight).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    ((layer(inputs) - targets) ** 2).mean().backward()
    update(layer)
    return initial_weight, layer.W.detach()


# Part 2
def single_step_with_grad_accumulation(seed=seed, device=device, accumulation_steps=4):
    layer = CustomLinearLayer(make_weight(seed)).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    for x, y in zip(inputs.chunk(accumulation_steps), targets.chunk(accumulation_steps)):
        # the mean over the whole batch, one term at a time
        (((layer(x) - y) ** 2).sum() / targets.numel()).backward()
    update(layer)
    return layer.W.detach()


# Part 3
def data_parallel_single_step(seed=seed, device=device):
    layer = CustomLinearLayer(make_weight(seed)).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    x = inputs[rank * local_batch_size : (rank + 1) * local_batch_size]
    y = targets[rank * local_batch_size : (rank + 1) * local_batch_size]
    ((layer(x) - y) ** 2).mean().backward()
    work = dist.all_reduce(layer.W.grad, async_op=True)
    work.wait()
    layer.W.grad /= world_size
    update(layer)
    return layer.W.detach()


# Part 4
class BroadcastParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        grad = torch.empty(grad_output.shape, device=grad_output.device).copy_(grad_output)
        dist.all_reduce(grad)
        return grad


class GatherParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        # every rank in turn shows its columns to the others
        columns = [x.contiguous() if r == rank else torch.empty(x.shape, device=x.device) for r in range(world_size)]
        for r in range(world_size):
            dist.broadcast(columns[r], src=r)
        return torch.cat(columns, dim=1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.tensor_split(world_size, dim=1)[rank].contiguous()


class FullColumnParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.W = nn.Parameter(weight.tensor_split(world_size, dim=1)[rank].contiguous().clone())

    def forward(self, X):
        return GatherParallel.apply(BroadcastParallel.apply(X) @ self.W)


def full_column_parallel_single_step(seed=seed, device=device):
    layer = FullColumnParallelLinear(make_weight(seed), world_size, rank).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    ((layer(inputs) - targets) ** 2).mean().backward()
    update(layer)
    return GatherParallel.apply(layer.W.detach())


# Part 5
class ScatterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.tensor_split(world_size, dim=1)[rank].contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        # zeros where the other ranks' columns are, then the sum has everything
        local = grad_output.shape[1]
        grad = torch.zeros(grad_output.shape[0], local * world_size, device=grad_output.device)
        grad[:, rank * local : (rank + 1) * local] = grad_output
        dist.all_reduce(grad)
        return grad


class ReduceParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RowParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.W = nn.Parameter(weight.tensor_split(world_size)[rank].clone())

    def forward(self, X):
        return ReduceParallel.apply(ScatterParallel.apply(X) @ self.W)


def row_parallel_single_step(seed=seed, device=device):
    layer = RowParallelLinear(make_weight(seed), world_size, rank).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    ((layer(inputs) - targets) ** 2).mean().backward()
    update(layer)
    rows = [torch.empty_like(layer.W) for _ in range(world_size)]
    dist.all_gather(rows, layer.W.detach())
    return torch.cat(rows)


# Part 6
class PipelineStage(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.layers = nn.Sequential()
        for w in weights:
            self.layers.append(CustomLinearLayer(w))
            self.layers.append(nn.GELU())

    def forward(self, X):
        return self.layers(X)

    def weights(self):
        return [p.detach() for p in self.parameters()]


def deep_single_step(seed=seed, device=device):
    model = PipelineStage(create_layers(num_layers, input_dim, seed)).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed, device)
    ((model(inputs) - targets) ** 2).mean().backward()
    update(model)
    return model.weights()


def pipeline_parallel_single_step(seed=seed, device=device, num_micro_batches=4):
    k = num_layers // world_size
    stage = PipelineStage(create_layers(num_layers, input_dim, seed)[rank * k : rank * k + k]).to(device)
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed, device)
    shape = (global_batch_size // num_micro_batches, input_dim)
    previous, following = rank - 1, rank + 1
    first, last = rank == 0, rank == world_size - 1

    xs, outs, sending = [], [], []
    for x in inputs.chunk(num_micro_batches):
        if not first:
            x = torch.empty(shape, device=device)
            dist.irecv(x, src=previous).wait()
            x.requires_grad_()
        out = stage(x)
        if not last:
            message = out.detach().clone()
            sending.append((message, dist.isend(message, dst=following)))
        xs.append(x)
        outs.append(out)

    for x, out, y in zip(xs, outs, targets.chunk(num_micro_batches)):
        if last:
            (((out - y) ** 2).sum() / targets.numel()).backward()
        else:
            grad = torch.empty(shape, device=device)
            dist.irecv(grad, src=following).wait()
            out.backward(grad)
        if not first:
            message = x.grad.contiguous().clone()
            sending.append((message, dist.isend(message, dst=previous)))
    for _, work in sending:
        work.wait()
    update(stage)
    return stage.weights()


updated_weight = torch.zeros(input_dim, output_dim, device=device)
if rank == 0:
    initial_weight, updated_weight = single_step()
    compare_tensors(initial_weight, updated_weight.cpu())
    compare_tensors(updated_weight.cpu(), single_step_with_grad_accumulation().cpu())
dist.broadcast(updated_weight, src=0)

compare_tensors(updated_weight.cpu(), data_parallel_single_step().cpu(), prefix="DataParallel")
compare_tensors(updated_weight.cpu(), full_column_parallel_single_step().cpu(), prefix="FullColumnParallel")
compare_tensors(updated_weight.cpu(), row_parallel_single_step().cpu(), prefix="RowParallel")

deep = deep_single_step()
mine = pipeline_parallel_single_step()
for i in range(len(mine)):
    compare_tensors(deep[rank * len(mine) + i].cpu(), mine[i].cpu(), prefix="Pipeline")

dist.destroy_process_group()
print(f"[Rank {rank}] done")
