"""What is asked of a job's processes from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from grader.run import processes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says for how long a process ran")
def test_a_process_is_busy_while_it_computes_and_not_while_it_sleeps() -> None:
    before = processes.busy(os.getpid())
    count, until = 0, time.process_time() + 0.3
    while time.process_time() < until:
        count += 1
    computed = processes.busy(os.getpid()) - before
    before = processes.busy(os.getpid())
    time.sleep(0.3)
    slept = processes.busy(os.getpid()) - before
    assert computed >= 0.29
    assert slept < computed


def test_a_process_that_is_gone_is_not_busy() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert processes.busy(gone.pid) == 0.0
