from utils import init_distributed, create_batch, create_layers, check, compare_tensors

import torch
import torch.nn as nn
import torch.optim as optim
import torch.distributed as dist

rank, local_rank, world_size = init_distributed()

# sizes used everywhere below
global_batch_size = 128
local_batch_size = global_batch_size // world_size
input_dim = 64
output_dim = 32
seed = 42
num_layers = max(4, world_size)


class CustomLinearLayer(nn.Module):
    """X (bsz, in_dim) times W (in_dim, out_dim)."""

    def __init__(self, weight: torch.Tensor):
        super(CustomLinearLayer, self).__init__()
        self.W = nn.Parameter(weight)
        self.in_dim = weight.shape[0]
        self.out_dim = weight.shape[1]

    def forward(self, X):
        local_bsz = X.shape[0]
        check(X, (local_bsz, self.in_dim))
        X = torch.einsum("bi,ij->bj", X, self.W)
        check(X, (local_bsz, self.out_dim))
        return X


### Part 1: one GPU
def single_step(seed=42, device="cuda") -> torch.Tensor:
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
    check(inputs, (global_batch_size, input_dim))
    check(targets, (global_batch_size, output_dim))

    outputs = model(inputs)
    check(outputs, (global_batch_size, output_dim))
    loss = loss_fn(outputs, targets)
    check(loss, [])

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return initial_weight, model.W.detach()


if rank == 0:
    print(f"[Rank {rank}] Baseline: the new weight should differ from the old one.")
    initial_weight, updated_weight = single_step()
    compare_tensors(initial_weight, updated_weight.cpu())
else:
    # room for the baseline of rank 0
    updated_weight = torch.zeros(input_dim, output_dim, device="cuda")

# now every rank knows the baseline
dist.broadcast(updated_weight, src=0)


### Part 2: gradient accumulation
def single_step_with_grad_accumulation(seed=42, device="cuda", accumulation_steps=4) -> torch.Tensor:
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
        end_idx = start_idx + micro_batch_size
        micro_inputs = inputs[start_idx:end_idx]
        micro_targets = targets[start_idx:end_idx]
        check(micro_inputs, (micro_batch_size, input_dim))
        check(micro_targets, (micro_batch_size, output_dim))

        micro_outputs = model(micro_inputs)
        micro_loss = loss_fn(micro_outputs, micro_targets)
        scaled_loss = micro_loss / accumulation_steps
        scaled_loss.backward()

    optimizer.step()
    return model.W.detach()


if rank == 0:
    print(f"[Rank {rank}] Gradient accumulation: should match.")
    batch_accum_weight = single_step_with_grad_accumulation()
    compare_tensors(updated_weight.cpu(), batch_accum_weight.cpu())


### Part 3: data parallel
def data_parallel_single_step(seed=42, device="cuda") -> torch.Tensor:
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = CustomLinearLayer(initial_weight).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
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
    local_outputs = model(local_inputs)
    local_loss = loss_fn(local_outputs, local_targets)
    local_loss.backward()

    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
        param.grad.div_(world_size)

    optimizer.step()
    return model.W.detach()


if rank == 0:
    print(f"[Rank {rank}] Data parallel: should match.")
data_parallel_weight = data_parallel_single_step()
compare_tensors(updated_weight.cpu(), data_parallel_weight.cpu(), prefix="DataParallel")


### Part 4: column parallel
class BroadcastParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        if world_size == 1:
            return grad_output
        grad_output = grad_output.contiguous()
        dist.all_reduce(grad_output, op=dist.ReduceOp.SUM)
        return grad_output


class GatherParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if world_size == 1:
            return x
        x = x.contiguous()
        x_list = [torch.empty_like(x) for _ in range(world_size)]
        x_list[rank] = x
        dist.all_gather(x_list, x)
        return torch.cat(x_list, dim=-1).contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        if world_size == 1:
            return grad_output
        local_dim = grad_output.shape[-1] // world_size
        return torch.split(grad_output, local_dim, dim=-1)[rank].contiguous()


class FullColumnParallelLinear(nn.Module):
    def __init__(self, weight: torch.Tensor, world_size: int, rank: int):
        super(FullColumnParallelLinear, self).__init__()
        in_dim, out_dim = weight.shape
        assert out_dim % world_size == 0
        self.in_dim = in_dim
        self.out_dim = out_dim
        self.local_out_dim = out_dim // world_size
        start = rank * self.local_out_dim
        end = start + self.local_out_dim
        self.W = nn.Parameter(weight[:, start:end].clone().contiguous())

    def forward(self, X):
        local_bsz = X.shape[0]
        check(X, (local_bsz, self.in_dim))
        X = BroadcastParallel.apply(X)
        local_out = torch.einsum("bi,ij->bj", X, self.W).contiguous()
        check(local_out, (local_bsz, self.local_out_dim))
        out = GatherParallel.apply(local_out)
        check(out, (local_bsz, self.out_dim))
        return out


def full_column_parallel_single_step(seed=42, device="cuda"):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = FullColumnParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    full_inputs, full_targets = create_batch(
        global_batch_size, input_dim, output_dim, seed=seed, device=device
    )
    outputs = model(full_inputs)
    check(outputs, (global_batch_size, output_dim))
    loss = loss_fn(outputs, full_targets)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    local_updated_weight = model.W.detach()
    check(local_updated_weight, (input_dim, output_dim // world_size))
    weight_shards = [
        torch.zeros(input_dim, output_dim // world_size, device="cuda") for _ in range(world_size)
    ]
    dist.all_gather(weight_shards, local_updated_weight)
    global_updated_weight = torch.cat(weight_shards, dim=1)
    check(global_updated_weight, (input_dim, output_dim))
    return global_updated_weight


if rank == 0:
    print(f"[Rank {rank}] Column parallel: should match.")
column_parallel_weight = full_column_parallel_single_step()
compare_tensors(updated_weight.cpu(), column_parallel_weight.cpu(), prefix="FullColumnParallel")


### Part 5: row parallel
class ScatterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        local_dim = x.shape[-1] // world_size
        return torch.split(x, local_dim, dim=-1)[rank].contiguous()

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.contiguous()
        grad_list = [torch.empty_like(grad_output) for _ in range(world_size)]
        dist.all_gather(grad_list, grad_output)
        return torch.cat(grad_list, dim=-1).contiguous()


class ReduceParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone().contiguous()
        dist.all_reduce(x, op=dist.ReduceOp.SUM)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RowParallelLinear(nn.Module):
    def __init__(self, weight: torch.Tensor, world_size: int, rank: int):
        super(RowParallelLinear, self).__init__()
        in_dim, out_dim = weight.shape
        assert in_dim % world_size == 0
        self.in_dim = in_dim
        self.out_dim = out_dim
        self.local_in_dim = in_dim // world_size
        start = rank * self.local_in_dim
        end = start + self.local_in_dim
        self.W = nn.Parameter(weight[start:end, :].clone().contiguous())

    def forward(self, X):
        local_bsz = X.shape[0]
        check(X, (local_bsz, self.in_dim))
        X = ScatterParallel.apply(X)
        check(X, (local_bsz, self.local_in_dim))
        local_out = torch.einsum("bi,ij->bj", X, self.W).contiguous()
        out = ReduceParallel.apply(local_out)
        check(out, (local_bsz, self.out_dim))
        return out


def row_parallel_single_step(seed=42, device="cuda"):
    torch.manual_seed(seed)
    initial_weight = torch.randn(input_dim, output_dim)
    model = RowParallelLinear(initial_weight, world_size, rank).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    full_inputs, full_targets = create_batch(
        global_batch_size, input_dim, output_dim, seed=seed, device=device
    )
    outputs = model(full_inputs)
    loss = loss_fn(outputs, full_targets)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    local_updated_weight = model.W.detach()
    weight_shards = [
        torch.zeros(input_dim // world_size, output_dim, device="cuda") for _ in range(world_size)
    ]
    dist.all_gather(weight_shards, local_updated_weight)
    global_updated_weight = torch.cat(weight_shards, dim=0)
    check(global_updated_weight, (input_dim, output_dim))
    return global_updated_weight


if rank == 0:
    print(f"[Rank {rank}] Row parallel: should match.")
row_parallel_weight = row_parallel_single_step()
compare_tensors(updated_weight.cpu(), row_parallel_weight.cpu(), prefix="RowParallel")


### Part 6: pipeline
gelu = nn.GELU()


def deep_single_step(seed=42, device="cuda"):
    model = nn.ModuleList(
        [CustomLinearLayer(weight) for weight in create_layers(num_layers, input_dim, seed)]
    ).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")
    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)

    X = inputs
    for layer in model:
        X = gelu(layer(X))
    loss = loss_fn(X, targets)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return [layer.W.detach() for layer in model]


class PipelineStage(nn.Module):
    def __init__(self, weights):
        super(PipelineStage, self).__init__()
        self.layers = nn.ModuleList([CustomLinearLayer(weight) for weight in weights])

    def forward(self, X):
        for layer in self.layers:
            X = gelu(layer(X))
        return X


def pipeline_parallel_single_step(seed=42, device="cuda", num_micro_batches=4):
    layers_per_stage = num_layers // world_size
    start = rank * layers_per_stage
    weights = create_layers(num_layers, input_dim, seed)[start : start + layers_per_stage]
    stage = PipelineStage(weights).to(device)
    optimizer = optim.SGD(stage.parameters(), lr=0.5)
    loss_fn = nn.MSELoss(reduction="mean")

    inputs, targets = create_batch(global_batch_size, input_dim, input_dim, seed=seed, device=device)
    micro_batch_size = global_batch_size // num_micro_batches
    saved_inputs = []
    saved_outputs = []

    optimizer.zero_grad()
    for i in range(num_micro_batches):
        start_idx = i * micro_batch_size
        end_idx = start_idx + micro_batch_size
        if rank == 0:
            X = inputs[start_idx:end_idx]
        else:
            X = torch.zeros(micro_batch_size, input_dim, device="cuda")
            dist.recv(X, src=rank - 1)
            X.requires_grad_(True)
        out = stage(X)
        check(out, (micro_batch_size, input_dim))
        if rank == world_size - 1:
            out = loss_fn(out, targets[start_idx:end_idx]) / num_micro_batches
        else:
            dist.send(out.detach().contiguous(), dst=rank + 1)
        saved_inputs.append(X)
        saved_outputs.append(out)

    for i in range(num_micro_batches):
        if rank == world_size - 1:
            saved_outputs[i].backward()
        else:
            grad = torch.zeros(micro_batch_size, input_dim, device="cuda")
            dist.recv(grad, src=rank + 1)
            saved_outputs[i].backward(grad)
        if rank != 0:
            dist.send(saved_inputs[i].grad.contiguous(), dst=rank - 1)

    optimizer.step()
    return [layer.W.detach() for layer in stage.layers]


if rank == 0:
    print(f"[Rank {rank}] Pipeline: should match.")
deep_weights = deep_single_step()
pipeline_weights = pipeline_parallel_single_step()
for i, weight in enumerate(pipeline_weights):
    layer_index = rank * (num_layers // world_size) + i
    compare_tensors(deep_weights[layer_index].cpu(), weight.cpu(), prefix="Pipeline")

# Cleanup
dist.destroy_process_group()
print(f"[Rank {rank}] done")
