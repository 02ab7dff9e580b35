# Assignment 4, the products written as X @ W
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

from utils import check, compare_tensors, create_batch, create_layers, init_distributed

rank, local_rank, world_size = init_distributed()
device = "cuda" if torch.cuda.is_available() else "cpu"

global_batch_size = 128
local_batch_size = global_batch_size // world_size
input_dim = 64
output_dim = 32
seed = 42
num_layers = max(4, world_size)


class CustomLinearLayer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.W = nn.Parameter(weight.clone())
        self.in_dim, self.out_dim = weight.shape

    def forward(self, X):
        check(X, (X.shape[0], self.in_dim))
        return X @ self.W


# ---- part 1 ----
def single_step(seed=seed, device=device):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    outputs = model(inputs)
    loss = loss_fn(outputs, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return initial_weight, model.W.detach()


# ---- part 2 ----
def single_step_with_grad_accumulation(seed=seed, device=device, accumulation_steps=4):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    micro_batch_size = global_batch_size // accumulation_steps
    optimizer.zero_grad()
    for i in range(accumulation_steps):
        start_idx = i * micro_batch_size
        end_idx = (i + 1) * micro_batch_size
        micro_inputs = inputs[start_idx:end_idx]
        micro_targets = targets[start_idx:end_idx]
        micro_outputs = model(micro_inputs)
        micro_loss = loss_fn(micro_outputs, micro_targets)
        scaled_loss = micro_loss / accumulation_steps
        scaled_loss.backward()
    # all micro-batches are in
    optimizer.step()
    return model.W.detach()


# ---- part 3 ----
def data_parallel_single_step(seed=seed, device=device):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    full_inputs, full_targets = create_batch(global_batch_size, input_dim, output_dim, seed, device)
    first_row = rank * local_batch_size
    local_inputs = full_inputs[first_row : first_row + local_batch_size]
    local_targets = full_targets[first_row : first_row + local_batch_size]

    optimizer.zero_grad()
    local_loss = loss_fn(model(local_inputs), local_targets)
    local_loss.backward()
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
    optimizer.step()
    return model.W.detach()


# ---- part 4 ----
class BroadcastParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.contiguous().clone()
        dist.all_reduce(grad_input)
        return grad_input


class GatherParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        x_list = [torch.empty_like(x) for _ in range(world_size)]
        dist.all_gather(x_list, x)
        return torch.cat(x_list, dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.chunk(world_size, dim=-1)[rank].contiguous()


class FullColumnParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.in_dim, self.out_dim = weight.shape
        self.local_out_dim = self.out_dim // world_size
        first_col = rank * self.local_out_dim
        self.W = nn.Parameter(weight[:, first_col : first_col + self.local_out_dim].contiguous().clone())

    def forward(self, X):
        X = BroadcastParallel.apply(X)
        columns = X @ self.W
        check(columns, (X.shape[0], self.local_out_dim))
        return GatherParallel.apply(columns)


def full_column_parallel_single_step(seed=seed, device=device):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = FullColumnParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    loss = loss_fn(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    local_weight = model.W.detach()
    column_shards = [torch.zeros_like(local_weight) for _ in range(world_size)]
    dist.all_gather(column_shards, local_weight)
    return torch.cat(column_shards, dim=1)


# ---- part 5 ----
class ScatterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.chunk(world_size, dim=-1)[rank].contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.contiguous()
        grads = [torch.empty_like(grad_output) for _ in range(world_size)]
        dist.all_gather(grads, grad_output)
        return torch.cat(grads, dim=-1)


class ReduceParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.contiguous().clone()
        dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RowParallelLinear(nn.Module):
    def __init__(self, weight, world_size, rank):
        super().__init__()
        self.in_dim, self.out_dim = weight.shape
        self.local_in_dim = self.in_dim // world_size
        first_row = rank * self.local_in_dim
        self.W = nn.Parameter(weight[first_row : first_row + self.local_in_dim].clone())

    def forward(self, X):
        X_shard = ScatterParallel.apply(X)
        partial = X_shard @ self.W
        check(partial, (X.shape[0], self.out_dim))
        return ReduceParallel.apply(partial)


def row_parallel_single_step(seed=seed, device=device):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = RowParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    loss = loss_fn(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    local_weight = model.W.detach()
    row_shards = [torch.zeros_like(local_weight) for _ in range(world_size)]
    dist.all_gather(row_shards, local_weight)
    return torch.cat(row_shards, dim=0)


# ---- part 6 ----
def deep_single_step(seed=seed, device=device):
    layers = [CustomLinearLayer(w).to(device) for w in create_layers(num_layers, input_dim, seed)]
    optimizer = optim.SGD([layer.W for layer in layers], lr=0.5)
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    out = inputs
    for layer in layers:
        out = F.gelu(layer(out))
    optimizer.zero_grad()
    F.mse_loss(out, targets).backward()
    optimizer.step()
    return [layer.W.detach() for layer in layers]


class PipelineStage(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.layers = nn.ModuleList([CustomLinearLayer(w) for w in weights])

    def forward(self, X):
        for layer in self.layers:
            X = F.gelu(layer(X))
        return X


def pipeline_parallel_single_step(seed=seed, device=device, num_micro_batches=4):
    # TODO: no time left, the first five parts must do
    raise NotImplementedError("TODO pipeline_parallel_single_step")


# ---- run everything ----
if rank == 0:
    initial_weight, updated_weight = single_step()
    compare_tensors(initial_weight, updated_weight.cpu())
else:
    updated_weight = torch.zeros(input_dim, output_dim, device=device)
dist.broadcast(updated_weight, src=0)

if rank == 0:
    accumulated = single_step_with_grad_accumulation()
    compare_tensors(updated_weight.cpu(), accumulated.cpu())

data_parallel_weight = data_parallel_single_step()
compare_tensors(updated_weight.cpu(), data_parallel_weight.cpu(), prefix="DataParallel")

column_parallel_weight = full_column_parallel_single_step()
compare_tensors(updated_weight.cpu(), column_parallel_weight.cpu(), prefix="FullColumnParallel")

row_parallel_weight = row_parallel_single_step()
compare_tensors(updated_weight.cpu(), row_parallel_weight.cpu(), prefix="RowParallel")

deep_weights = deep_single_step()
stage_weights = pipeline_parallel_single_step()
offset = rank * len(stage_weights)
for expected, mine in zip(deep_weights[offset : offset + len(stage_weights)], stage_weights):
    compare_tensors(expected.cpu(), mine.cpu(), prefix="Pipeline")

dist.destroy_process_group()
print(f"[Rank {rank}] done")
