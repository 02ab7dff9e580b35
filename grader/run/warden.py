"""Runs one job: makes its place, starts it, watches it, ends it whole, and only then reads what it left.

The warden is the parent of the job's first process, outside of the job itself. It never runs student
code and shares nothing with it but pipes.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from grader.job import Limits
from grader.run import jail, launch, pipes, processes, shares, wire
from grader.run.watch import RankPipes, Watch
from grader.run.workspace import Workspace

_IN_JAIL = Path("/tmp/job")
_LOG = 2000  # characters of the launcher's own words in an error
# The launcher's account of the rank that ended first. (Ranks may write there, too.)
_RANK = re.compile(r"\brank\s{0,20}: (\d{1,6})\b")
_SIGNAL = re.compile(r"Signal \d{1,3} \((SIG[A-Z0-9]{1,12})\) received")

_Answer = tuple[dict[str, Any], dict[str, bytes]]


def run(spec: dict[str, Any], connection: socket.socket, jailed: bool) -> None:
    """Run the job of ``spec`` and send its result over ``connection``. Wants a process of its own."""
    started = time.monotonic()
    try:
        header, files = _in_jail(spec, connection) if jailed else _in_the_open(spec, connection)
    except Exception as error:  # whatever it is, the grader is told
        header, files = {"ended": "error", "detail": f"the job could not be set up: {error}", "ranks": []}, {}
    header["seconds"] = time.monotonic() - started
    try:
        wire.send(connection, header, files)
    except OSError:
        return  # the grader went away: there is nobody left to tell


def _in_jail(spec: dict[str, Any], connection: socket.socket) -> _Answer:
    inherited = processes.use_of(os.getpid()).memory
    owner = jail.enter(spec["limits"]["disk_mb"], spec["staged"])
    return _run(Workspace(_IN_JAIL), spec, connection, inherited, owner)


def _in_the_open(spec: dict[str, Any], connection: socket.socket) -> _Answer:
    inherited = processes.use_of(os.getpid()).memory
    processes.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="grader-job-") as folder:
        return _run(Workspace(Path(folder) / "job"), spec, connection, inherited, None)


def _run(
    workspace: Workspace, spec: dict[str, Any], connection: socket.socket, inherited: int, owner: int | None
) -> _Answer:
    limits = Limits(**spec["limits"])
    user = os.geteuid() if owner is None else owner
    workspace.create(spec, user)
    delivery = shares.Delivery.receive(connection, spec["shares"], workspace, user)
    ranks = [RankPipes.open(workspace, rank) for rank in range(spec["world_size"])]
    launcher_log = pipes.open_reader(workspace.launcher_output)
    first = os.fork()
    if first == 0:
        launch.main(workspace, spec, limits, owner)
    jailed = owner is not None
    watch = Watch(first, ranks, workspace.go, delivery, connection, limits, inherited, jailed)
    try:
        ended, detail = watch.until_over()
    finally:
        processes.end(first, jailed)
    delivery.close()
    watch.drain()
    log = (pipes.read_available(launcher_log) or b"").decode(errors="replace")
    if ended == "error":
        detail += "\n" + log[-_LOG:]
    elif ended == "died":
        detail += _first_to_end(log)
    if ended == "died" and jailed and workspace.root.exists() and workspace.is_full():
        # The rank that was refused could not write down why it ended.
        ended, detail = "output-limit", f"{limits.disk_mb} MiB of files"
    # No artifact can be larger than the disk that it was written to.
    files, remark = workspace.collect(limits.disk_mb << 20)
    header = {
        "ended": ended,
        "detail": "; ".join(filter(None, (detail, remark))),
        "ranks": [
            {
                "rank": index,
                "started": rank.status.started,
                "finished": rank.status.finished,
                "case": rank.status.case,
                "waits": rank.status.waits if ended == "deadlock" and not rank.status.over else None,
                "output": rank.output.text(),
            }
            for index, rank in enumerate(ranks)
        ],
    }
    return header, files


def _first_to_end(log: str) -> str:
    account = log.rpartition("Root Cause")[2][:_LOG]
    rank, killed = _RANK.search(account), _SIGNAL.search(account)
    return f", rank {rank[1]} by {killed[1]}" if rank and killed else ""
