"""The reference on four nodes, two ranks on each: every part agrees with its baseline, on every rank."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

from tests.assignment.test_reference import COURSE, SYNCED, comparisons
from tests.slurm.virtual_cluster import Cluster

NODES, RANKS_ON_EACH = 4, 2
SCRIPT = COURSE / "slurm" / "run.sbatch"  # what a student submits


def test_the_reference_runs_on_four_nodes_and_every_comparison_of_every_rank_is_true(
    cluster: Cluster, tmp_path: Path
) -> None:
    shutil.copy(COURSE / "reference" / "assignment4.py", tmp_path)
    shutil.copy(COURSE / "assignment" / "utils.py", tmp_path)
    # The script starts python3, and asks for more cores than a node has here, whose interface is loopback.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    options = (
        f"--nodes={NODES}", f"--gres=gpu:{RANKS_ON_EACH}", "--cpus-per-task=1",
        f"--export=ALL,PATH={path},GLOO_SOCKET_IFNAME=lo",
    )  # fmt: skip
    ended, printed = cluster.run(SCRIPT, *options, cwd=tmp_path, seconds=500)
    assert ended.state == "COMPLETED", printed

    found = comparisons(printed)
    ranks = range(NODES * RANKS_ON_EACH)
    without_part = [match for part, rank, match in found if part is None and rank == 0]
    assert without_part == [False, True], "the update changes the weight, and accumulation gives the same one"
    expected = Counter((part, rank) for part in (*SYNCED, "Pipeline") for rank in ranks)
    assert Counter((part, rank) for part, rank, _ in found if part) == expected
    assert all(match for part, _, match in found if part)
