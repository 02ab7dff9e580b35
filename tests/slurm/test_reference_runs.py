"""The reference on four nodes, two ranks on each: every part agrees with its baseline, on every rank."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.assignment.test_reference import COURSE, SYNCED, comparisons
from tests.slurm.virtual_cluster import Cluster

pytestmark = pytest.mark.slow

NODES, RANKS_ON_EACH = 4, 2
# What a student submits, and its arguments.
SCRIPT = Path(__file__).with_name("reference.sbatch")
ARGUMENTS = (sys.executable, str(RANKS_ON_EACH), "assignment4.py")


def test_the_reference_runs_on_four_nodes_and_every_comparison_of_every_rank_is_true(
    cluster: Cluster, tmp_path: Path
) -> None:
    shutil.copy(COURSE / "reference" / "assignment4.py", tmp_path)
    shutil.copy(COURSE / "assignment" / "utils.py", tmp_path)
    nodes = f"--nodes={NODES}"
    ended, printed = cluster.run(SCRIPT, nodes, cwd=tmp_path, arguments=ARGUMENTS, seconds=500)
    assert ended.state == "COMPLETED", printed

    found = comparisons(printed)
    ranks = range(NODES * RANKS_ON_EACH)
    without_part = [match for part, rank, match in found if part is None and rank == 0]
    assert without_part == [False, True], "the update changes the weight, and accumulation gives the same one"
    expected = Counter((part, rank) for part in (*SYNCED, "Pipeline") for rank in ranks)
    assert Counter((part, rank) for part, rank, _ in found if part) == expected
    assert all(match for part, _, match in found if part)
