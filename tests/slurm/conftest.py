from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.slurm.missing import reason_to_skip
from tests.slurm.virtual_cluster import Cluster, virtual_cluster


@pytest.fixture(scope="session")
def a_slurm() -> None:
    """What starts a Slurm of its own asks for this first."""
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(a_slurm: None) -> Iterator[Cluster]:
    """One for all tests of a worker. Who breaks a node takes a `virtual_cluster` of their own."""
    began = time.monotonic()
    with virtual_cluster() as running:
        print(f"The virtual cluster was up in {time.monotonic() - began:.1f} s.")
        yield running
