"""The data that ranks are given in place of what they draw: all of it here, a share for each rank."""

from __future__ import annotations

import random
import threading

import safetensors.torch
import torch

from grader.exercises.contract import Case, Lab
from grader.job import Job


class Given:
    """Draws the data of a case once, from the run's secret (`grader.cases.secret_of`). May be shared by
    threads. The seed that a rank is told has nothing to do with it.
    """

    def __init__(self, lab: Lab, secret: str) -> None:
        self._lab, self._secret = lab, secret
        self._drawn: dict[object, dict[str, torch.Tensor]] = {}
        self._lock = threading.Lock()

    def to(self, case: Case) -> bool:
        """Whether this case's ranks are given their data."""
        return case.check == "own_share" and self._lab[case.exercise].share is not None

    def whole(self, case: Case) -> dict[str, torch.Tensor]:
        """All data of the case, by name."""
        assert self._lab.given_data is not None
        key = (case.exercise, case.world_size, tuple(sorted(case.sizes.items())))
        with self._lock:
            if key not in self._drawn:
                seed = random.Random(f"{self._secret}/{key}").getrandbits(63)
                generator = torch.Generator().manual_seed(seed)
                self._drawn[key] = self._lab.given_data.draw(case, generator)
            return self._drawn[key]

    def shares(self, job: Job) -> dict[str, bytes]:
        """What each rank of the job gets, by ``case<index>-rank<rank>``."""
        return {
            f"case{index}-rank{rank}": safetensors.torch.save(self._share(case, rank))
            for index, case in enumerate(job.cases)
            if self.to(case)
            for rank in range(case.world_size)
        }

    def _share(self, case: Case, rank: int) -> dict[str, torch.Tensor]:
        share = self._lab[case.exercise].share
        assert share is not None
        data = self.whole(case)
        if rank in case.whole_ranks:
            return data
        return {name: value.contiguous() for name, value in share(data, case, rank).items()}
