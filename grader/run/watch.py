"""Watches a running job from outside until it is over, and says why it ended.

Enforces what the resource limits of single processes cannot: time, the job's memory and number of
processes in all, the length of its output.
"""

from __future__ import annotations

import os
import select
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from grader.job import Limits
from grader.run import launch, pipes, processes
from grader.run.shares import Delivery
from grader.run.workspace import Workspace

_TICK = 0.05  # seconds between two looks at the job while its ranks say nothing
_INSPECT_EVERY = 0.05  # seconds between two looks at its processes
# Seconds for the launcher to look at a rank that is gone, and for its peers to fail for themselves. They do
# not count while the launcher works or a peer waits for a core: on a busy machine all of them come late.
_GRACE = 2.0
_LOOKED = 3 * launch.POLL  # the same, where the peers do not move any more
_STANDSTILL = 1.0  # seconds for which no rank of a job may move before it is called a deadlock
_NO_HOPE = 0.2  # the same, where one has failed and the others wait for it
_START = 90.0  # seconds for all ranks to begin: a slow machine's, not the student's


@dataclass
class RankPipes:
    """What one rank says: its status lines and its output."""

    status_pipe: int
    output_pipe: int
    status: pipes.Status = field(default_factory=pipes.Status)
    output: pipes.Output = field(default_factory=pipes.Output)

    @classmethod
    def open(cls, workspace: Workspace, rank: int) -> RankPipes:
        return cls(pipes.open_reader(workspace.status(rank)), pipes.open_reader(workspace.output(rank)))

    @property
    def gone(self) -> bool:
        """It ended without having come to its end."""
        return self.status.closed and not self.status.finished

    def read(self) -> bool:
        """Take what there is; True when something was there."""
        news = pipes.read_available(self.status_pipe)
        if news:
            self.status.add(news)
        elif news == b"" and self.status.started:
            self.status.closed = True
        text = pipes.read_available(self.output_pipe)
        if text:
            self.output.add(text)
        return bool(news or text)


class Watch:
    """One job under observation. ``go`` is the named pipe that lets the ranks run the student's code;
    ``delivery`` brings them their shares of the data before that. ``inherited`` is the memory in bytes that
    each of its processes was born with, and which therefore does not count as the job's."""

    def __init__(
        self,
        first: int,
        ranks: list[RankPipes],
        go: Path,
        delivery: Delivery,
        connection: socket.socket,
        limits: Limits,
        inherited: int,
        jailed: bool,
    ) -> None:
        self._first, self._ranks, self._go, self._connection = first, ranks, go, connection
        self._delivery = delivery
        self._limits, self._inherited, self._jailed = limits, inherited, jailed
        self._created = time.monotonic()
        self._running_since: float | None = None
        self._gone_since: float | None = None
        self._used_before: dict[int, processes.CoreTime] = {}
        self._inspect_at = self._created

    def until_over(self) -> tuple[str, str]:
        """Returns how the job ended (see `grader.job.JobResult.ended`) and a detail."""
        while True:
            self._wait_for_news()
            ended = self._over() or self._over_a_limit(time.monotonic())
            if ended and ended[0] == "died":
                # A rank may fail by a limit before the limit is seen to be reached.
                return self._uses_too_much() or ended
            if ended:
                return ended

    def drain(self) -> None:
        """After the end: take what is still in the pipes, within the output limit."""
        for rank in self._ranks:
            while rank.output.total <= self._limits.output_kb << 10 and rank.read():
                pass

    def _wait_for_news(self) -> None:
        speaking = [rank.status_pipe for rank in self._ranks if not rank.status.closed]
        select.select([self._connection.fileno(), *speaking], self._delivery.waiting(), [], _TICK)
        self._delivery.feed()
        for rank in self._ranks:
            rank.read()

    def _over(self) -> tuple[str, str] | None:
        if _closed(self._connection):
            return "error", "the grader went away"
        if all(rank.status.finished for rank in self._ranks):
            return "finished", ""
        now = time.monotonic()
        if self._gone_since is None and any(rank.gone or rank.status.failed for rank in self._ranks):
            self._gone_since, self._used_before = now, self._core_times()
        launcher = os.waitid(os.P_PID, self._first, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if launcher is not None:
            if self._running_since is None:
                return "error", f"the launcher ended with status {launcher.si_status} before all ranks began"
            self.drain()  # what the ranks said last may be that they are done
            if all(rank.status.finished for rank in self._ranks):
                return "finished", ""
            return "died", f"the launcher ended with status {launcher.si_status}"
        if self._gone_since is None:
            return ("deadlock", "") if self._stands_still(_STANDSTILL) else None
        # Ranks that failed stay. Of one that is gone, the launcher has still to say by what.
        slept = now - self._gone_since - self._held_up()
        looked = slept > _LOOKED or not any(rank.gone for rank in self._ranks)
        all_over = all(rank.status.over for rank in self._ranks)
        if all_over or (looked and self._stands_still(_NO_HOPE)) or slept > _GRACE:
            return "died", ""
        return None

    def _core_times(self) -> dict[int, processes.CoreTime]:
        return {pid: processes.core_time(pid) for pid in processes.of_job(self._jailed)}

    def _held_up(self) -> float:
        """Seconds since a rank was gone for which the launcher has worked, or the most hindered process of
        the job has waited for a core."""
        launcher, held_up = 1 if self._jailed else self._first, 0.0
        for pid, used in self._core_times().items():
            before = self._used_before.get(pid, processes.CoreTime())
            worked = used.ran - before.ran if pid == launcher else 0.0
            held_up = max(held_up, used.waited - before.waited + worked)
        return held_up

    def _stands_still(self, seconds: float) -> bool:
        """Whether no rank can go on: each that is left waits inside an operation, and was heard to still
        wait there ``seconds`` after the last of them had begun to."""
        left = [rank.status for rank in self._ranks if not rank.status.over and not rank.status.closed]
        if not left or any(status.waits is None for status in left):
            return False
        last_began = max(status.waits_since for status in left)
        return all(status.heard >= last_began + seconds for status in left)

    def _over_a_limit(self, now: float) -> tuple[str, str] | None:
        limits = self._limits
        if self._running_since is None:
            if all(rank.status.started for rank in self._ranks):
                self._running_since = now
                # A writer lets the readers in. Open for both: it neither waits for one nor fails without.
                os.open(self._go, os.O_RDWR)
            elif now - self._created > _START:
                return "error", f"the ranks did not begin within {_START:.0f} s"
        elif now - self._running_since > limits.seconds:
            return "time-limit", f"{limits.seconds:g} s"
        if any(rank.output.total > limits.output_kb << 10 for rank in self._ranks):
            return "output-limit", f"{limits.output_kb} KiB"
        # Nothing hostile runs yet, and until the job has its own /proc this would count other jobs.
        if self._running_since is None or now < self._inspect_at:
            return None
        self._inspect_at = now + _INSPECT_EVERY
        return self._uses_too_much()

    def _uses_too_much(self) -> tuple[str, str] | None:
        limits = self._limits
        running = processes.of_job(self._jailed)
        if len(running) > limits.processes:  # a fork bomb leaves no time to look at each
            return "process-limit", f"{limits.processes} processes and threads"
        uses = [processes.use_of(pid) for pid in running]
        if sum(use.threads for use in uses) > limits.processes:
            return "process-limit", f"{limits.processes} processes and threads"
        used = sum(max(0, use.memory - self._inherited) for use in uses)
        if used > limits.memory_mb << 20:
            return "memory-limit", f"{limits.memory_mb} MiB"
        return None


def _closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
