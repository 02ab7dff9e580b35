"""A simulated site takes and refuses job scripts as its shape says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.missing import has_lua
from tests.slurm.shape import Nodes, Partition, Shape
from tests.slurm.simulated import Site, simulated

SHAPE = Shape(
    nodes=(
        Nodes("gh", 8, cpus=72, gpus=1, gpu_type="gh200"),
        Nodes("a", 4, cpus=64, gpus=4, gpu_type="a100", features=("gpu", "hbm80g")),
        Nodes("old", 2, cpus=40, gpus=4, gpu_type="v100", features=("gpu",)),
    ),
    partitions=(
        Partition("gh", ("gh",), default=True, max_minutes=120, whole_nodes=True),
        Partition("a100", ("a", "old"), max_nodes=3),
    ),
    accounts=("eecs", "proj_g"),
    qos=("regular", "debug"),
    required=("--account", "--time"),
    refused=("--mem", "--gpus-per-task", "--gpus"),
)
RIGHT = {"account": "eecs", "partition": "a100", "nodes": "2", "gpus-per-node": "a100:4", "time": "30"}


@pytest.fixture(scope="module")
def site(a_slurm: None) -> Iterator[Site]:
    if not has_lua():
        pytest.skip("Slurm's lua plugin is not installed: run tests/slurm/install.sh as root.")
    with simulated(SHAPE) as running:
        yield running


def script(changes: dict[str, str | None]) -> str:
    given = {name: value for name, value in {**RIGHT, **changes}.items() if value is not None}
    return "\n".join(
        ["#!/bin/bash", *(f"#SBATCH --{name}={value}" for name, value in given.items()), "true\n"]
    )


@pytest.mark.parametrize(
    ("changes", "nodes"),
    [
        ({}, "a[1-2]"),
        ({"constraint": "gpu&hbm80g", "qos": "debug", "nodes": "3"}, "a[1-3]"),
        ({"gpus-per-node": "v100:2", "account": "proj_g"}, "old[1-2]"),
        ({"gpus-per-node": None, "gres": "gpu:4", "constraint": "hbm80g"}, "a[1-2]"),
        ({"partition": None, "gpus-per-node": None, "nodes": "8"}, "gh[1-8]"),
    ],
)
def test_a_job_that_fits_would_start_on_nodes_of_its_kind(
    site: Site, tmp_path: Path, changes: dict[str, str | None], nodes: str
) -> None:
    answer = site.test_only(script(changes), cwd=tmp_path)
    assert answer.accepted, answer
    assert f"on nodes {nodes} in partition" in answer.text


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"account": None}, "--account is required here."),
        ({"account": "nobody"}, "There is no account nobody here."),
        ({"qos": "urgent"}, "There is no qos urgent here."),
        ({"time": None}, "--time is required here."),
        ({"mem": "4G"}, "--mem is not allowed here."),
        ({"gpus-per-node": None, "gpus-per-task": "1"}, "--gpus-per-task is not allowed here."),
        ({"gpus-per-node": None, "gpus": "a100:8"}, "--gpus is not allowed here."),
        ({"partition": "gpu"}, "invalid partition specified: gpu"),
        ({"constraint": "hbm40g"}, "Invalid feature specification"),
        ({"gpus-per-node": "a100:8"}, "Requested node configuration is not available"),
        ({"gpus-per-node": "h100:1"}, "Requested node configuration is not available"),
        ({"gpus-per-node": "v100:4", "nodes": "3"}, "Requested node configuration is not available"),
        ({"cpus-per-task": "65"}, "Requested node configuration is not available"),
        ({"nodes": "4"}, "Node count specification invalid"),
        ({"partition": "gh", "gpus-per-node": None, "time": "121"}, "Requested time limit is invalid"),
    ],
)
def test_a_job_that_does_not_fit_is_refused_with_the_reason(
    site: Site, tmp_path: Path, changes: dict[str, str | None], because: str
) -> None:
    answer = site.test_only(script(changes), cwd=tmp_path)
    assert not answer.accepted, answer
    assert because in answer.text
