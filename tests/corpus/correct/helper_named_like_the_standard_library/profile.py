# How long the parts take. Needs no cProfile.
import time
from contextlib import contextmanager

import statistics

seconds = {}


@contextmanager
def timed(part):
    begun = time.perf_counter()
    yield
    seconds.setdefault(part, []).append(time.perf_counter() - begun)


def report(rank):
    for part, times in seconds.items():
        print(f"[Rank {rank}] {part}: {statistics.middle(times):.3f} s")
