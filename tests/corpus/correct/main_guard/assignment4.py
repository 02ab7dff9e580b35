"""Assignment 4 with its driver in main()."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import ReduceOp

import utils

rank, local_rank, world_size = utils.init_distributed()

global_batch_size = 128
local_batch_size = global_batch_size // world_size
input_dim = 64
output_dim = 32
seed = 42
num_layers = max(4, world_size)
DEVICE = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")


class CustomLinearLayer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.W = nn.Parameter(weight.detach().clone())

    def forward(self, X):
        return X.matmul(self.W)


def initial(seed):
    torch.manual_seed(seed)
    return torch.randn(input_dim, output_dim)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.5)


def all_shards(shard):
    """The shards of all ranks, in rank order."""
    shards = [torch.empty_like(shard) for _ in range(world_size)]
    dist.all_gather(shards, shard.contiguous())
    return shards


def full_batch_step(model, seed, device):
    """One update of a model that takes the whole batch."""
    optimizer = sgd(model)
    inputs, targets = utils.create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return model.W.detach()


def single_step(seed=seed, device=DEVICE):
    weight = initial(seed)
    return weight, full_batch_step(CustomLinearLayer(weight).to(device), seed, device)


def single_step_with_grad_accumulation(seed=seed, device=DEVICE, accumulation_steps=4):
    model = CustomLinearLayer(initial(seed)).to(device)
    optimizer = sgd(model)
    inputs, targets = utils.create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    micro_batch_size = global_batch_size // accumulation_steps
    optimizer.zero_grad()
    for start in range(0, global_batch_size, micro_batch_size):
        rows = slice(start, start + micro_batch_size)
        nn.functional.mse_loss(model(inputs[rows]), targets[rows]).backward()
    for param in model.parameters():
        param.grad /= accumulation_steps
    optimizer.step()
    return model.W.detach()


def data_parallel_single_step(seed=seed, device=DEVICE):
    model = CustomLinearLayer(initial(seed)).to(device)
    optimizer = sgd(model)
    inputs, targets = utils.create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    rows = slice(rank * local_batch_size, (rank + 1) * local_batch_size)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs[rows]), targets[rows]).backward()
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=ReduceOp.SUM)
        param.grad.data /= world_size
    optimizer.step()
    return model.W.detach()


class BroadcastParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.contiguous().clone()
        dist.all_reduce(grad, op=ReduceOp.SUM)
        return grad


class GatherParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.cat(all_shards(x.contiguous()), dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.chunk(world_size, dim=-1)[rank].contiguous()


class FullColumnParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.W = nn.Parameter(weight.chunk(world_size, dim=1)[rank].clone().contiguous())

    def forward(self, X):
        return GatherParallel.apply(BroadcastParallel.apply(X).matmul(self.W))


def full_column_parallel_single_step(seed=seed, device=DEVICE):
    model = FullColumnParallelLinear(initial(seed), world_size=world_size, rank=rank).to(device)
    return torch.cat(all_shards(full_batch_step(model, seed, device)), dim=1)


class ScatterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.chunk(world_size, dim=-1)[rank].contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.cat(all_shards(grad_output.contiguous()), dim=-1)


class ReduceParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.contiguous().clone()
        dist.all_reduce(total, op=ReduceOp.SUM)
        return total

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RowParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.W = nn.Parameter(weight.chunk(world_size, dim=0)[rank].clone())

    def forward(self, X):
        return ReduceParallel.apply(ScatterParallel.apply(X).matmul(self.W))


def row_parallel_single_step(seed=seed, device=DEVICE):
    model = RowParallelLinear(initial(seed), world_size=world_size, rank=rank).to(device)
    return torch.cat(all_shards(full_batch_step(model, seed, device)), dim=0)


class PipelineStage(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.linears = nn.ModuleList(CustomLinearLayer(w) for w in weights)

    def forward(self, X):
        for linear in self.linears:
            X = nn.functional.gelu(linear(X))
        return X


def deep_single_step(seed=seed, device=DEVICE):
    model = PipelineStage(utils.create_layers(num_layers, input_dim, seed)).to(device)
    optimizer = sgd(model)
    inputs, targets = utils.create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
    return [linear.W.detach() for linear in model.linears]


def pipeline_parallel_single_step(seed=seed, device=DEVICE, num_micro_batches=4):
    size = num_layers // world_size
    stage = PipelineStage(utils.create_layers(num_layers, input_dim, seed)[rank * size :][:size]).to(device)
    optimizer = sgd(stage)
    inputs, targets = utils.create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    first, last = rank == 0, rank == world_size - 1

    done = []
    for x, y in zip(inputs.chunk(num_micro_batches), targets.chunk(num_micro_batches)):
        if not first:
            x = torch.empty_like(x)
            dist.recv(x, src=rank - 1)
            x.requires_grad_()
        out = stage(x)
        if last:
            out = nn.functional.mse_loss(out, y) / num_micro_batches
        else:
            dist.send(out.detach().contiguous(), dst=rank + 1)
        done.append((x, out))

    # the newest micro-batch goes back first
    for x, out in reversed(done):
        grad = None
        if not last:
            grad = torch.empty_like(out)
            dist.recv(grad, src=rank + 1)
        out.backward(grad)
        if not first:
            dist.send(x.grad.contiguous(), dst=rank - 1)
    optimizer.step()
    return [linear.W.detach() for linear in stage.linears]


def main():
    updated_weight = torch.zeros(input_dim, output_dim, device=DEVICE)
    if rank == 0:
        initial_weight, updated_weight = single_step()
        utils.compare_tensors(initial_weight, updated_weight.cpu())
    dist.broadcast(updated_weight, src=0)
    baseline = updated_weight.cpu()

    if rank == 0:
        utils.compare_tensors(baseline, single_step_with_grad_accumulation().cpu())
    utils.compare_tensors(baseline, data_parallel_single_step().cpu(), prefix="DataParallel")
    utils.compare_tensors(baseline, full_column_parallel_single_step().cpu(), prefix="FullColumnParallel")
    utils.compare_tensors(baseline, row_parallel_single_step().cpu(), prefix="RowParallel")

    stage = pipeline_parallel_single_step()
    for expected, weight in zip(deep_single_step()[rank * len(stage) :], stage):
        utils.compare_tensors(expected.cpu(), weight.cpu(), prefix="Pipeline")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
