"""The reference and its skeleton, run the way a student runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COURSE = Path(__file__).parents[2]
LINE = re.compile(
    r"(?:\[(?P<part>\w+)\])?\[Rank (?P<rank>\d+)\] Tensors match: (?P<match>True|False) "
    r"\| Max diff: (?P<max>\S+) \| Mean diff: \d\.\d{6}e[+-]\d\d"
)
SYNCED = ("DataParallel", "FullColumnParallel", "RowParallel")


def torchrun(file: Path, folder: Path, ranks: int = 4) -> subprocess.CompletedProcess[str]:
    shutil.copy(file, folder / "assignment4.py")
    shutil.copy(COURSE / "assignment" / "utils.py", folder)
    launched = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    environment = {name: value for name, value in os.environ.items() if name not in launched}
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
    return subprocess.run(
        [sys.executable, *launch, "assignment4.py"],
        cwd=folder,
        env={**environment, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )


def comparisons(output: str) -> list[tuple[str | None, int, bool]]:
    """Part, rank and outcome of every comparison. Ranks may share a line, so the whole text is searched."""
    return [(line["part"], int(line["rank"]), line["match"] == "True") for line in LINE.finditer(output)]


@pytest.mark.parametrize("ranks", [4, 2, 1])
def test_the_reference_prints_a_true_comparison_for_every_part_on_every_rank(
    tmp_path: Path, ranks: int
) -> None:
    run = torchrun(COURSE / "reference" / "assignment4.py", tmp_path, ranks)
    assert run.returncode == 0, run.stderr
    found = comparisons(run.stdout)

    without_part = [match for part, rank, match in found if part is None and rank == 0]
    assert without_part == [False, True], "the update changes the weight, and accumulation gives the same one"

    expected = Counter((part, rank) for part in SYNCED for rank in range(ranks))
    expected.update({("Pipeline", rank): 4 // ranks for rank in range(ranks)})
    assert Counter((part, rank) for part, rank, _ in found if part) == expected
    assert all(match for part, _, match in found if part)


def test_the_reference_updates_the_weight_by_the_known_amount(tmp_path: Path) -> None:
    """The numbers of seed 42, drawn on the CPU: should the data ever change, this says so."""
    run = torchrun(COURSE / "reference" / "assignment4.py", tmp_path, ranks=1)
    first = LINE.search(run.stdout)
    assert first
    assert first["max"] == "1.193051e-01"


def test_the_skeleton_stops_at_its_first_todo_and_says_where(tmp_path: Path) -> None:
    run = torchrun(COURSE / "assignment" / "assignment4.py", tmp_path)
    assert run.returncode != 0
    assert "NotImplementedError: TODO in single_step (1 line): inputs, targets = ..." in run.stderr
    assert comparisons(run.stdout) == []
