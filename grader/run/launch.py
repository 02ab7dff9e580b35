"""The first process of a job: starts the ranks, by forking them or by the real torchrun.

Both ways end in `grader.run.rank.main`, in a process whose environment torch's elastic agent has set.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, NoReturn

from grader.job import Limits
from grader.run import jail, rank
from grader.run.workspace import Workspace

# Seconds between two looks of the elastic agent at its ranks: where one dies, its peers have so long to come
# as far as they can; nothing else waits for it, because the warden ends the job.
POLL = 0.25


def main(workspace: Workspace, spec: dict[str, Any], limits: Limits, owner: int | None) -> NoReturn:
    """Become the launcher of this job; never returns. ``owner`` is the user id of a jailed job."""
    status = 1
    try:
        log = os.open(workspace.launcher_output, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(log, stream)
        if owner is not None:
            jail.settle(owner, limits)
        else:
            os.setsid()
            jail.set_resource_limits(limits)
        os.chdir(workspace.root)
        _close_what_was_inherited()
        os.environ.update(_environment(workspace))
        tempfile.tempdir = None  # look at TMPDIR again
        if spec["launcher"] == "torchrun":
            _torchrun(workspace, spec)
        else:
            _fork(workspace, spec)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _close_what_was_inherited() -> None:
    """Keep the three standard streams: the connections to the grader are not for a job's eyes."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX") if sys.platform != "linux" else 1 << 16)


def _environment(workspace: Workspace) -> dict[str, str]:
    folder = str(workspace.root)
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0",
    }


def _fork(workspace: Workspace, spec: dict[str, Any]) -> None:
    from torch.distributed.elastic.rendezvous import dynamic_rendezvous
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.CRITICAL)  # the agent's account of a failed rank: ours is in the record
    # Half of a launch's time: it names the caller of events that nobody reads, by walking the whole stack
    # with its sources, and waits for up to 0.3 s so that many nodes do not come all at once. Ours is one.
    dynamic_rendezvous.get_method_name = lambda depth=2: "rendezvous"
    dynamic_rendezvous._delay = _delay  # type: ignore[attr-defined]
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=spec["world_size"],
        run_id=spec["run_id"],
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        start_method="fork",
        max_restarts=0,
        monitor_interval=POLL,
    )
    elastic_launch(config, rank.main)(str(workspace.root))


def _delay(seconds: float | tuple[float, float]) -> None:
    """Between two looks at the state of a rendezvous; a range is what is drawn from before the first."""
    time.sleep(seconds[0] if isinstance(seconds, tuple) else seconds)


def _torchrun(workspace: Workspace, spec: dict[str, Any]) -> NoReturn:
    find_us = f"import sys; sys.path[:] = {[entry for entry in sys.path if entry]!r}; "
    start_rank = find_us + f"from grader.run import rank; rank.main({str(workspace.root)!r})"
    start_torchrun = find_us + "from torch.distributed.run import main; main(sys.argv[1:])"
    python = [sys.executable, "-I", "-S", "-B"]
    arguments = ["--standalone", "--nproc-per-node", str(spec["world_size"]), "--no-python"]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.execv(sys.executable, [*python, "-c", start_torchrun, *arguments, *python, "-c", start_rank])
