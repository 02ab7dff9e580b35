from config import global_batch_size, input_dim, output_dim
from utils import create_batch


def batch(seed, device):
    return create_batch(global_batch_size, input_dim, output_dim, seed=seed, device=device)
