"""The processes of one job: counting them, and ending every one of them."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil  # walks process trees on Linux and macOS alike

_PR_SET_CHILD_SUBREAPER = 36
_STATUS = re.compile(rb"^(RssAnon|RssShmem|Threads):\s+(\d+)", re.MULTILINE)


def adopt_orphans() -> None:
    """Let processes that lose their parent come to this one, where a sweep finds them (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def of_job(jailed: bool) -> list[int]:
    """The ids of all processes of the job. In a jail, /proc shows the job's own and no others."""
    try:
        if jailed:
            return psutil.pids()
        return [process.pid for process in psutil.Process().children(recursive=True)]
    except psutil.Error:
        return []


@dataclass(frozen=True)
class Use:
    """What one process uses: resident memory in bytes that is not a file's on disk, and threads."""

    memory: int
    threads: int


def use_of(pid: int) -> Use:
    """What a process uses now; nothing when it is gone."""
    try:
        if sys.platform != "linux":
            process = psutil.Process(pid)
            return Use(process.memory_info().rss, process.num_threads())
        status = Path(f"/proc/{pid}/status").read_bytes()
    except (psutil.Error, OSError):
        return Use(0, 0)
    # The first line is the name that the process gave itself, which may be any bytes.
    fields = {name: int(number) for name, number in _STATUS.findall(status.partition(b"\n")[2])}
    return Use((fields.get(b"RssAnon", 0) + fields.get(b"RssShmem", 0)) << 10, fields.get(b"Threads", 1))


@dataclass(frozen=True)
class CoreTime:
    """Seconds for which a process's main thread has run, and has waited for a core, since it began."""

    ran: float = 0.0
    waited: float = 0.0


def core_time(pid: int) -> CoreTime:
    """Nothing where the system does not say, or the process is gone."""
    try:
        ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except (OSError, ValueError):
        return CoreTime()
    return CoreTime(int(ran) / 1e9, int(waited) / 1e9)


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
        for pid in remaining:
            _kill(pid)
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
