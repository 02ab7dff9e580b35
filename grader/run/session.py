"""The grader's side of the agent: starts it once, and has it run the jobs of one submission or of many."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import Any

from grader.job import Job, JobResult, Limits, RankEnd
from grader.run import agent, descriptors, jail, sandbox, shares, wire
from grader.run.sandbox import Place, SandboxError

_ENDS_WITHIN = 10.0  # seconds for the agent and its jobs to be gone
_READY_WITHIN = 180.0  # seconds: importing torch from a cold disk
_ANSWER_WITHIN = 150.0  # seconds beyond a job's own limit: its start, and reading what it left


class Session:
    """A running agent. Use as a context manager; `run` may be called from several threads.

    Starting does not wait for the agent's imports: the first `run` does.
    """

    def __init__(
        self, place: Place, lab: str, limits: Limits, launcher: str = "fork", device: str = "cpu"
    ) -> None:
        self._place, self._lab, self._limits = place, lab, limits
        self._launcher, self._device = launcher, device
        self._lock = threading.Lock()
        descriptors.raise_own_limit()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close())
        self._control, theirs = socket.socketpair()
        descriptor = theirs.fileno()
        self._process = subprocess.Popen(
            [*place.command, str(descriptor), "jailed" if place.jailed else "open", lab],
            env=place.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            pass_fds=[descriptor],
            start_new_session=True,  # Ctrl-C reaches the grader, which then closes the session
        )
        theirs.close()
        self._jobs: set[socket.socket] = set()
        self._ready: dict[str, Any] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the agent and whatever it still runs; a `run` in another thread returns."""
        if self._place.jailed:
            self._process.kill()  # bubblewrap's parent process; the kernel ends the rest with it
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        for connection in list(self._jobs):  # without a sandbox, this is what ends them
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(timeout=_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._wait_for_the_agents_end()
        self._control.close()
        self._stderr.close()

    def _wait_for_the_agents_end(self) -> None:
        """In a sandbox the agent is a grandchild. It holds the other end of the control socket."""
        with contextlib.suppress(OSError):
            self._control.settimeout(_ENDS_WITHIN)
            while self._control.recv(1 << 12):
                pass

    def is_alive(self) -> bool:
        """Whether the agent is still there. (In a sandbox it is a grandchild, and gone before its parent.)"""
        if self._process.poll() is not None:
            return False
        try:
            return self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def import_seconds(self) -> float:
        """How long the agent's imports took. Waits for them; raises `SandboxError` when it cannot start."""
        with self._lock:
            if self._ready is None:
                self._ready = self._wait_until_ready()
        return float(self._ready["import_seconds"])

    def run(self, job: Job) -> JobResult:
        """Run one job and return what it left. Raises `SandboxError` only when the agent cannot start;
        an agent that dies later gives a result that ended in ``error``."""
        self.import_seconds()
        staged = f"{self._place.submissions}/{job.submission}"
        spec = {
            "run_id": job.run_id,
            "lab": self._lab,
            "world_size": job.world_size,
            "cases": [case.to_json() for case in job.cases],
            "shares": {name: len(data) for name, data in job.shares.items()},
            "limits": {**vars(self._limits), "seconds": min(job.seconds, self._limits.seconds)},
            "launcher": self._launcher,
            "device": self._device,
            "staged": staged,
            "submission": jail.SUBMISSION if self._place.jailed else staged,
            "staff_utils": self._place.staff_utils,
        }
        ours, theirs = socket.socketpair()
        self._jobs.add(ours)
        with ours:
            ours.settimeout(self._limits.seconds + _ANSWER_WITHIN)
            try:
                with theirs, self._lock:
                    agent.send_connection(self._control, theirs)
                wire.send(ours, spec)
                if job.shares:
                    shares.hand_over(ours, job.shares.values())
                header, files = wire.receive(ours, (self._limits.disk_mb + 16) << 20)
                return _result(job, header, files)
            except (OSError, KeyError, TypeError, ValueError) as error:
                return JobResult(job, "error", f"the sandbox did not answer: {error}")
            finally:
                self._jobs.discard(ours)

    def _wait_until_ready(self) -> dict[str, Any]:
        self._control.settimeout(_READY_WITHIN)
        try:
            ready, _ = wire.receive(self._control, 1 << 16)
        except OSError as error:
            self._process.kill()
            self._process.wait()
            self._stderr.seek(0)
            text = self._stderr.read().decode(errors="replace")
            raise SandboxError(sandbox.explain_failure(text, self._place.jailed)) from error
        self._control.settimeout(None)
        return ready


def _result(job: Job, header: dict[str, Any], files: dict[str, bytes]) -> JobResult:
    ranks = tuple(RankEnd(**rank) for rank in header["ranks"])
    return JobResult(job, str(header["ended"]), str(header["detail"]), ranks, files, float(header["seconds"]))
