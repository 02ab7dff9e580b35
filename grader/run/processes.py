"""The processes of one job: counting them, and ending every one of them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

import psutil  # walks process trees on Linux and macOS alike

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Let processes that lose their parent come to this one, where a sweep finds them (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def of_job(jailed: bool) -> list[psutil.Process]:
    """All processes of the job. In a jail, /proc shows the job's own and no others."""
    me = os.getpid()
    try:
        if not jailed:
            return psutil.Process(me).children(recursive=True)
        return [psutil.Process(pid) for pid in psutil.pids()]
    except psutil.Error:
        return []


def private_bytes(process: psutil.Process) -> int:
    """Resident memory of a process that is not a file's, in bytes (0 when it is gone)."""
    try:
        info = process.memory_info()
    except psutil.Error:
        return 0
    return int(info.rss - getattr(info, "shared", 0))


def end(first: int, jailed: bool) -> None:
    """Kill a job whole; when this returns, none of its processes is left.

    In a jail, the kernel ends all with pid 1 and its parent can only wait for it after the last is gone.
    Outside, the tree is swept until nothing is found: a process that forks while it is swept has a child
    of this one, the subreaper, at the next round.
    """
    _kill(first)
    if jailed:
        os.waitpid(first, 0)
        return
    while remaining := of_job(jailed=False):
        for process in remaining:
            _kill(process.pid)
        _reap()
        time.sleep(0.002)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap() -> None:
    """Take the exit status of every child that has ended, so that it is no longer counted."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
