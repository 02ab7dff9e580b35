"""What the kernel counts for a user, all jobs of an ordinary user share: none uses it up for the others."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.run.made import LIMITS, Runs, is_root, runs_in, told

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(is_root(), reason="each of root's jobs is a user of its own; see test_ordinary_user"),
]

USUAL_PIPE = 1 << 16
USUAL_FILES = 1024  # the soft limit that most machines start a session with
USUAL_PAGES = 1 << 14  # of all pipes of a user

# Messages of 248: four up to a rank's own limit, and one past it.
TAKE_ALL_THERE_IS = """
import fcntl

def take_pipes():
    kept = []
    try:
        while True:
            kept += os.pipe()
            try:
                fcntl.fcntl(kept[-1], fcntl.F_SETPIPE_SZ, 1 << 20)
            except OSError:
                pass
    except OSError:
        time.sleep(600)

def send_descriptors():
    kept = []
    try:
        while True:
            kept += socket.socketpair()
            socket.send_fds(kept[-1], [b"x"], [0] * 248)
    except OSError:
        time.sleep(600)

for take in [send_descriptors] + [take_pipes] * 5:
    if os.fork() == 0:
        take()
time.sleep(600)
"""
# With as many open files as is usual, one cannot send any more.
SEND_ONE = f"""
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, ({USUAL_FILES}, {USUAL_FILES}))
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
"""


@pytest.fixture(scope="module", autouse=True)
def usual_limits() -> Iterator[None]:
    """This process becomes one that an instructor starts on a machine as it comes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    pages = int(Path("/proc/sys/fs/pipe-user-pages-soft").read_text())
    if hard < 4 * USUAL_FILES or not 0 < pages <= USUAL_PAGES:
        pytest.skip("this machine's limits are others: nothing could be used up, or there is no more to have")
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_FILES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def jail(usual_limits: None) -> Iterator[Runs]:
    """The sandbox beside which a submission in another one has taken all that there is."""
    patient = replace(LIMITS, seconds=500)
    with ThreadPoolExecutor(1) as pool, runs_in("bubblewrap", limits=patient) as hostile:
        beside = pool.submit(hostile, TAKE_ALL_THERE_IS)
        with runs_in("bubblewrap") as runs:
            while not (a_new_pipe_is_small() and nobody_may_send_descriptors()):
                assert not beside.done(), beside.result()
                time.sleep(0.05)
            yield runs
            assert a_new_pipe_is_small(), "it did not last: nothing was tried"
            assert nobody_may_send_descriptors(), "it did not last: nothing was tried"


def a_new_pipe_is_small() -> bool:
    pipe = os.pipe()
    try:
        return fcntl.fcntl(pipe[0], fcntl.F_GETPIPE_SZ) < USUAL_PIPE
    finally:
        for end in pipe:
            os.close(end)


def nobody_may_send_descriptors() -> bool:
    # -I and -S: it is started often.
    command = [sys.executable, "-I", "-S", "-c", SEND_ONE]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "Too many references" in result.stderr


def test_large_shares_arrive_all_the_same(jail):
    weights = [torch.randn(1024, 512) for _ in range(2)]
    result = jail.with_weights("tell(sum=torch.randn(1024, 512).double().sum().item())", weights)
    assert result.ended == "finished", result
    for rank, weight in enumerate(weights):
        assert told(result, rank)["sum"] == pytest.approx(weight.double().sum().item())


def test_a_crash_is_named_all_the_same(jail):
    result = jail("if RANK == 1: ctypes.string_at(0)\ntime.sleep(60)", 2)
    assert result.ended == "died"
    assert "SIGSEGV" in result.detail


def test_long_output_is_kept_all_the_same(jail):
    result = jail("print('x' * 50_000)")
    assert result.ended == "finished"
    assert len(result.ranks[0].output) > 30_000
