import torch

import config


def draw(seed=config.seed):
    torch.manual_seed(seed)
    return torch.randn(config.input_dim, config.output_dim)
