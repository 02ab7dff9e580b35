# The functions lean on what the driver has computed before: initial_weight (rank 0 only) and updated_weight.
from utils import init_distributed, create_batch, create_layers, compare_tensors

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.optim import SGD

rank, local_rank, world_size = init_distributed()

global_batch_size = 128
local_batch_size = global_batch_size // world_size
input_dim = 64
output_dim = 32
seed = 42
num_layers = max(4, world_size)
gpu = torch.cuda.is_available()
dev = "cuda" if gpu else "cpu"


class CustomLinearLayer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.W = nn.Parameter(weight)

    def forward(self, X):
        return torch.mm(X, self.W)


def single_step(seed=42, device=dev):
    torch.manual_seed(seed)
    weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(weight.clone()).to(device)
    optimizer = SGD(model.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    loss = nn.MSELoss()(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return weight, model.W.detach()


if rank == 0:
    initial_weight, updated_weight = single_step()
    compare_tensors(initial_weight, updated_weight.cpu())
else:
    updated_weight = torch.zeros(input_dim, output_dim, device=dev)
dist.broadcast(updated_weight, src=0)


def single_step_with_grad_accumulation(seed=42, device=dev, accumulation_steps=4):
    # only rank 0 runs this, and it has initial_weight
    model = CustomLinearLayer(initial_weight.clone()).to(device)
    optimizer = SGD(model.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    optimizer.zero_grad()
    for x, y in zip(inputs.chunk(accumulation_steps), targets.chunk(accumulation_steps)):
        loss = nn.MSELoss()(model(x), y) / accumulation_steps
        loss.backward()
    optimizer.step()
    return model.W.detach()


if rank == 0:
    batch_accum_weight = single_step_with_grad_accumulation()
    compare_tensors(updated_weight.cpu(), batch_accum_weight.cpu())


def data_parallel_single_step(seed=42, device=dev):
    # rank 0 gives its initial weight to the others
    if rank == 0:
        weight = initial_weight.clone().to(device)
    else:
        weight = torch.zeros(input_dim, output_dim, device=device)
    dist.broadcast(weight, src=0)

    model = CustomLinearLayer(weight)
    optimizer = SGD(model.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    my_inputs = inputs.view(world_size, local_batch_size, input_dim)[rank]
    my_targets = targets.view(world_size, local_batch_size, output_dim)[rank]
    loss = nn.MSELoss()(model(my_inputs), my_targets)
    loss.backward()
    dist.all_reduce(model.W.grad)
    model.W.grad /= world_size
    optimizer.step()
    return model.W.detach()


data_parallel_weight = data_parallel_single_step()
compare_tensors(updated_weight.cpu(), data_parallel_weight.cpu(), prefix="DataParallel")


class BroadcastParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.clone().contiguous()
        dist.all_reduce(grad)
        return grad


class GatherParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        parts = [torch.zeros_like(x) for _ in range(world_size)]
        dist.all_gather(parts, x)
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, grad_output):
        n = grad_output.shape[1] // world_size
        return grad_output[:, n * rank : n * rank + n].contiguous()


class FullColumnParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        n = weight.shape[1] // world_size
        self.W = nn.Parameter(weight[:, n * rank : n * rank + n].contiguous().clone())

    def forward(self, X):
        return GatherParallel.apply(torch.mm(BroadcastParallel.apply(X), self.W))


def full_column_parallel_single_step(seed=42, device=dev):
    torch.manual_seed(seed)
    model = FullColumnParallelLinear(torch.randn(input_dim, output_dim), world_size, rank).to(device)
    optimizer = SGD(model.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    nn.MSELoss()(model(inputs), targets).backward()
    optimizer.step()

    mine = model.W.detach()
    parts = [torch.zeros_like(mine) for _ in range(world_size)]
    dist.all_gather(parts, mine)
    whole = torch.zeros_like(updated_weight)
    for r, part in enumerate(parts):
        whole[:, r * part.shape[1] : (r + 1) * part.shape[1]] = part
    return whole


column_parallel_weight = full_column_parallel_single_step()
compare_tensors(updated_weight.cpu(), column_parallel_weight.cpu(), prefix="FullColumnParallel")


class ScatterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = x.shape[1] // world_size
        return x[:, n * rank : n * rank + n].contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.contiguous()
        parts = [torch.zeros_like(grad_output) for _ in range(world_size)]
        dist.all_gather(parts, grad_output)
        return torch.cat(parts, 1)


class ReduceParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RowParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        n = weight.shape[0] // world_size
        self.W = nn.Parameter(weight[n * rank : n * rank + n].clone())

    def forward(self, X):
        return ReduceParallel.apply(torch.mm(ScatterParallel.apply(X), self.W))


def row_parallel_single_step(seed=42, device=dev):
    torch.manual_seed(seed)
    model = RowParallelLinear(torch.randn(input_dim, output_dim), world_size, rank).to(device)
    optimizer = SGD(model.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    nn.MSELoss()(model(inputs), targets).backward()
    optimizer.step()

    mine = model.W.detach()
    whole = torch.empty_like(updated_weight)
    dist.all_gather(list(whole.chunk(world_size, dim=0)), mine)
    return whole


row_parallel_weight = row_parallel_single_step()
compare_tensors(updated_weight.cpu(), row_parallel_weight.cpu(), prefix="RowParallel")


def deep_single_step(seed=42, device=dev):
    layers = nn.ModuleList(map(CustomLinearLayer, create_layers(num_layers, input_dim, seed))).to(device)
    optimizer = SGD(layers.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    X = inputs
    for layer in layers:
        X = nn.functional.gelu(layer(X))
    nn.MSELoss()(X, targets).backward()
    optimizer.step()
    return [layer.W.detach() for layer in layers]


class PipelineStage(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.layers = nn.ModuleList([CustomLinearLayer(w.clone()) for w in weights])

    def forward(self, X):
        for layer in self.layers:
            X = nn.functional.gelu(layer(X))
        return X


def pipeline_parallel_single_step(seed=42, device=dev, num_micro_batches=4):
    n = num_layers // world_size
    stage = PipelineStage(create_layers(num_layers, input_dim, seed)[n * rank : n * rank + n]).to(device)
    optimizer = SGD(stage.parameters(), lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    xs = list(inputs.chunk(num_micro_batches))
    ys = targets.chunk(num_micro_batches)
    outs = []

    for i in range(num_micro_batches):
        if rank > 0:
            xs[i] = torch.zeros(global_batch_size // num_micro_batches, input_dim, device=device)
            dist.recv(xs[i], rank - 1)
            xs[i].requires_grad = True
        outs.append(stage(xs[i]))
        if rank < world_size - 1:
            dist.send(outs[i].detach(), rank + 1)

    for i in range(num_micro_batches):
        if rank < world_size - 1:
            grad = torch.zeros(global_batch_size // num_micro_batches, input_dim, device=device)
            dist.recv(grad, rank + 1)
            outs[i].backward(grad)
        else:
            loss = nn.MSELoss()(outs[i], ys[i]) / num_micro_batches
            loss.backward()
        if rank > 0:
            dist.send(xs[i].grad.contiguous(), rank - 1)

    optimizer.step()
    return [layer.W.detach() for layer in stage.layers]


deep_weights = deep_single_step()
pipeline_weights = pipeline_parallel_single_step()
for a, b in zip(deep_weights[rank * len(pipeline_weights) :], pipeline_weights):
    compare_tensors(a.cpu(), b.cpu(), prefix="Pipeline")

dist.destroy_process_group()
print(f"[Rank {rank}] done")
