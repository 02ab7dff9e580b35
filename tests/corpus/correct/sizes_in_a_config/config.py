import os

world_size = int(os.environ["WORLD_SIZE"])

global_batch_size = 128
input_dim, output_dim = 64, 32
seed: int = 42
num_layers = max(4, world_size)
local_batch_size = global_batch_size // world_size
