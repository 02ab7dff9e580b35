"""Whatever becomes of the tests, nothing of a cluster is left: no process and no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.slurm.virtual_cluster import virtual_cluster

COURSE = Path(__file__).parents[2]
HOLDER = """
import sys, threading
from pathlib import Path
from tests.slurm.virtual_cluster import virtual_cluster

with virtual_cluster() as cluster:
    cluster.sbatch("#!/bin/bash\\ntouch running; sleep 600 & srun sleep 600", cwd=Path.cwd())
    cluster.wait_for(Path.cwd() / "running")
    print(cluster.machine.folder, flush=True)
    threading.Event().wait()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_cluster_ends_with_the_process_that_started_it(
    a_slurm: None, tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(COURSE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        started = psutil.Process(holder.pid).children(recursive=True)
        names = [process.name() for process in started]
        assert names.count("slurmd") == 4
        assert "sleep" in names
        holder.send_signal(number)
        holder.wait(60)
    alive = psutil.wait_procs(started, timeout=60)[1]
    assert alive == []
    assert not folder.exists()


def test_a_cluster_ends_with_a_test_that_fails(a_slurm: None, tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ZeroDivisionError), virtual_cluster() as cluster:
        cluster.sbatch("#!/bin/bash\nsleep 600", cwd=tmp_path)
        started = set(psutil.Process().children(recursive=True)) - before
        raise ZeroDivisionError
    assert started
    assert [process for process in started if process.is_running()] == []
    assert not cluster.machine.folder.exists()
