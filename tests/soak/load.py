"""A background load: one process for each core that computes, and nothing else."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_cores(processes: int = os.cpu_count() or 2) -> Iterator[None]:
    """Keep every core busy inside the block. The processes are this one's children, and end with it."""
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_compute, daemon=True) for _ in range(processes)]
    for child in children:
        child.start()
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.join()


def _compute() -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # a parent that was killed cannot end its children
        sum(number * number for number in range(100_000))
