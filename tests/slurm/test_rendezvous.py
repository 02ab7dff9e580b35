"""Known bugs of torchrun under srun: agents that do not find each other; and the form in which they do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import Cluster

pytestmark = pytest.mark.slow  # torch is imported by several processes

SETTING = """\
#!/bin/bash
set -euo pipefail
export OMP_NUM_THREADS=1
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT
"""
TORCHRUN = (
    f"{sys.executable} -m torch.distributed.run --nnodes=2 --nproc-per-node=1 "
    "--master-addr=$MASTER_ADDR --master-port=$MASTER_PORT"
)
# What a rank runs: no torch, so that it is quick.
RANK = "import os; print(os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], 'on', os.uname().nodename)"


def test_two_nodes_of_rank_0_cannot_meet(cluster: Cluster, tmp_path: Path) -> None:
    """picotron's base_job.slurm. On machines of their own they would wait for each other in silence."""
    (tmp_path / "rank.py").write_text(RANK)
    options = ("--nodes=2", "--ntasks-per-node=1")
    start = f"{SETTING}srun --kill-on-bad-exit=1 bash -c "
    too_early = f'{start}"exec {TORCHRUN} --node-rank=$SLURM_NODEID rank.py"\n'
    ended, printed = cluster.run(too_early, *options, cwd=tmp_path, seconds=500)
    assert ended.state == "FAILED", printed
    assert "EADDRINUSE" in printed

    on_each = f"{start}'exec {TORCHRUN} --node-rank=$SLURM_NODEID rank.py'\n"
    ended, printed = cluster.run(on_each, *options, cwd=tmp_path, seconds=500)
    assert ended.state == "COMPLETED", printed
    # With the static rendezvous the ranks are in the order of the nodes.
    assert {"0 of 2 on n1", "1 of 2 on n2"} <= set(printed.splitlines())


@pytest.mark.parametrize(("interface", "state"), [("bond1", "FAILED"), ("lo", "COMPLETED")])
def test_gloo_refuses_an_interface_that_the_node_does_not_have(
    cluster: Cluster, tmp_path: Path, interface: str, state: str
) -> None:
    """sglang#3226, Megatron-LM#436: a name that was copied from another cluster."""
    alone = "import torch.distributed as d; d.init_process_group('gloo', rank=0, world_size=1)"
    (tmp_path / "alone.py").write_text(f"{alone}; d.destroy_process_group()\n")
    script = f"{SETTING}export GLOO_SOCKET_IFNAME={interface}\nsrun {sys.executable} alone.py\n"
    ended, printed = cluster.run(script, cwd=tmp_path, seconds=500)
    assert ended.state == state, printed
    assert ("Unable to find address for: bond1" in printed) == (interface == "bond1")
