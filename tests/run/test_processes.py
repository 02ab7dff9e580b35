"""What is asked of a job's processes from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from grader.run import processes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says for how long a process ran")
def test_a_process_runs_while_it_computes_and_not_while_it_sleeps() -> None:
    before = processes.core_time(os.getpid()).ran
    count, until = 0, time.process_time() + 0.3
    while time.process_time() < until:
        count += 1
    computed = processes.core_time(os.getpid()).ran - before
    before = processes.core_time(os.getpid()).ran
    time.sleep(0.3)
    slept = processes.core_time(os.getpid()).ran - before
    assert computed >= 0.29
    assert slept < computed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says for how long a process waited")
def test_a_process_waits_where_others_have_its_core() -> None:
    core = min(os.sched_getaffinity(0))
    spin = f"import os, time; os.sched_setaffinity(0, {{{core}}}); end = time.time() + 1\n"
    spin += "while time.time() < end: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(3)]
    most = 0.0
    while any(process.poll() is None for process in spinning):
        most = max(most, *(processes.core_time(process.pid).waited for process in spinning))
        time.sleep(0.01)
    assert most > 0.1


def test_a_process_that_is_gone_has_used_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert processes.core_time(gone.pid) == processes.CoreTime()
