"""A foreign cluster that runs nothing: only its controller is real, and says what it would refuse."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.slurm import daemons
from tests.slurm.machine import DidNotStart, Machine, folder_of_a_machine, machine
from tests.slurm.shape import Nodes, Partition, Shape
from tests.slurm.submit_rules import job_submit_lua


@dataclass(frozen=True)
class Answer:
    """What `sbatch --test-only` said: when and where the job would start, or why it is refused."""

    accepted: bool
    text: str


@dataclass(frozen=True)
class Site:
    """A simulated cluster that runs. ``environment`` is what sbatch needs to ask it."""

    machine: Machine

    @property
    def environment(self) -> dict[str, str]:
        """For a program that calls sbatch: SLURM_CONF and PATH, in a copy of this process's environment."""
        return dict(self.machine.environment)

    def test_only(self, script: Path | str, *options: str, cwd: Path) -> Answer:
        """Ask whether it would take a script: a file, or its text. Nothing is queued."""
        command = ["sbatch", "--test-only", *options, *([str(script)] if isinstance(script, Path) else [])]
        done = self.machine.client(*command, cwd=cwd, stdin=script if isinstance(script, str) else "")
        return Answer(done.returncode == 0, done.stderr.strip())


@contextlib.contextmanager
def simulated(shape: Shape) -> Iterator[Site]:
    """Start the controller of such a site. Needs the lua plugin (see `missing.has_lua`)."""
    with folder_of_a_machine() as folder:
        daemons.write(folder, slurm_conf(shape))
        (folder / "job_submit.lua").write_text(job_submit_lua(shape))
        started = [daemons.munge(folder), daemons.controller(folder)]
        hosts = {"head": "10.0.0.100", "localhost": "127.0.0.1"}
        with machine(folder, hosts, started) as running:
            wait_until_it_answers(running)
            yield Site(running)


def slurm_conf(shape: Shape) -> list[str]:
    """Nodes that are in a cloud and switched off: to Slurm they could be there whenever a job needs them."""
    return [
        "JobSubmitPlugins=lua",
        "SuspendProgram=/bin/true",
        "ResumeProgram=/bin/true",
        "SuspendTime=60",
        "ResumeTimeout=600",
        "SlurmdTimeout=0",
        *(line_of_nodes(nodes) for nodes in shape.nodes),
        *(line_of_a_partition(partition, shape) for partition in shape.partitions),
    ]


def line_of_nodes(nodes: Nodes) -> str:
    names = f"NodeName={names_of(nodes)} NodeAddr=10.0.0.1 Port=[20001-{20000 + nodes.count}] State=CLOUD"
    cores = f"CPUs={nodes.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={nodes.cpus} ThreadsPerCore=1"
    gpus = ":".join(filter(None, ["gpu", nodes.gpu_type, str(nodes.gpus)]))
    optional = [f"Gres={gpus}"] if nodes.gpus else []
    optional += [f"Feature={','.join(nodes.features)}"] if nodes.features else []
    return " ".join([names, cores, f"RealMemory={nodes.memory_mb}", *optional])


def line_of_a_partition(partition: Partition, shape: Shape) -> str:
    members = [names_of(nodes) for nodes in shape.nodes if nodes.prefix in partition.prefixes]
    words = [f"PartitionName={partition.name}", f"Nodes={','.join(members)}"]
    words += ["Default=YES"] if partition.default else []
    words += [f"MaxNodes={partition.max_nodes}"] if partition.max_nodes else []
    words += [f"MaxTime={partition.max_minutes}"] if partition.max_minutes else []
    words += ["OverSubscribe=EXCLUSIVE"] if partition.whole_nodes else []
    return " ".join(words)


def names_of(nodes: Nodes) -> str:
    return f"{nodes.prefix}[1-{nodes.count}]"


def wait_until_it_answers(running: Machine, seconds: float = 60) -> None:
    """Until sbatch would get an answer."""
    deadline = time.monotonic() + seconds
    while running.is_up() and time.monotonic() < deadline:
        if running.client("scontrol", "ping").returncode == 0:
            return
        time.sleep(0.05)
    raise DidNotStart(f"The simulated cluster did not come up.\n{running.logs()}")
