"""Signs of trouble in what torch, NCCL, gloo and Slurm write."""

from __future__ import annotations

import pytest

from tests.evidence.made import ORDINARY_ERR, log_of, read

LINES = {
    "slurmstepd: error: *** JOB 24 ON n1 CANCELLED AT 2026-11-28T09:00 DUE TO TIME LIMIT ***": "time limit",
    "slurmstepd: error: *** STEP 24.0 ON n1 CANCELLED AT 2026-11-28T09:00:00 ***": "job was cancelled",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=24.batch.": "ran out of memory",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=24.0 cgroup": "ran out of memory",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB.": "a GPU ran out of memory",
    "[rank1]:[E128] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)": "watchdog",
    "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation": "gloo waited",
    "RuntimeError: [../gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:3211": "lost its connection",
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed": "NCCL reported",
    "The server socket has failed to listen [errno: 98 - Address already in use].": "port",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:": "a rank failed",
    "  traceback : Signal 9 (SIGKILL) received by PID 26834": "killed from outside",
}


@pytest.mark.parametrize("line", LINES)
def test_each_sign_is_told_in_plain_words(line):
    (fact,) = (fact for fact in read(ORDINARY_ERR + line + "\n").facts if "trouble" in fact)
    assert LINES[line] in fact


def test_what_every_stderr_has_is_no_trouble():
    evidence = read(log_of(), ORDINARY_ERR)
    assert not any("trouble" in fact or "shows" in fact for fact in evidence.facts)


def test_one_time_limit_is_not_also_a_cancelled_job():
    (line,) = (line for line in LINES if "DUE TO" in line)
    assert "the Slurm job was cancelled" not in read(line).facts[0]
