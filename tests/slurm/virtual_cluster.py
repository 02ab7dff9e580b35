"""A real Slurm on this machine: a controller and four nodes with two GPUs each that are only numbers."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.slurm import daemons
from tests.slurm.machine import DidNotStart, Machine, folder_of_a_machine, machine

NODES = ("n1", "n2", "n3", "n4")
GPUS = 2
GPU_TYPE = "a100"
CPUS = 4
# The job may still come to another state from these.
UNFINISHED = re.compile("PENDING|RUNNING|COMPLETING|CONFIGURING|SUSPENDED|REQUEUE|SIGNALING|STAGE_OUT")


class Refused(Exception):
    """sbatch took no job; the message is what it said."""


class StillRunning(Exception):
    """A job did not end in time; the message shows the queue and the daemons' logs."""


@dataclass(frozen=True)
class Ended:
    """How a job has ended: ``COMPLETED``, ``FAILED``, ``TIMEOUT`` ..., its exit code, and Slurm's reason."""

    state: str
    exit_code: int
    signal: int
    reason: str


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs. ``environment`` is what sbatch and the other clients need to reach it."""

    machine: Machine
    nodes: tuple[str, ...] = NODES

    @property
    def environment(self) -> dict[str, str]:
        """For a program that calls sbatch: SLURM_CONF and PATH, in a copy of this process's environment."""
        return dict(self.machine.environment)

    def sbatch(self, script: Path | str, *options: str, cwd: Path, arguments: Sequence[str] = ()) -> str:
        """Submit a file, to be run with arguments, or the text of a script. Returns the job's id.

        Output goes to a file in ``cwd`` unless an option says otherwise. Raises Refused.
        """
        assert isinstance(script, Path) or not arguments
        file = [str(script), *arguments] if isinstance(script, Path) else []
        command = ["sbatch", "--parsable", *options, *file]
        done = self.machine.client(*command, cwd=cwd, stdin=script if isinstance(script, str) else "")
        if done.returncode:
            raise Refused(done.stderr.strip())
        return done.stdout.strip()

    def show(self, job: str) -> dict[str, str]:
        """All that Slurm knows of a job: the fields of `scontrol show job`."""
        said = self.machine.client("scontrol", "--oneliner", "show", "job", job)
        if said.returncode:
            raise LookupError(said.stderr.strip())
        return dict(re.findall(r"(\S+?)=(\S*)", said.stdout))

    def wait(self, job: str, seconds: float = 120) -> Ended:
        """Until the job (or an array's task, ``12_3``) has ended. Raises StillRunning after ``seconds``."""
        deadline = time.monotonic() + seconds
        while UNFINISHED.match((fields := self.show(job))["JobState"]):
            if time.monotonic() > deadline:
                seen = f"Job {job} has not ended in {seconds} s.\n{self.squeue()}\n{self.machine.logs()}"
                self.machine.client("scancel", job)
                raise StillRunning(seen)
            time.sleep(0.1)
        code, signal = fields["ExitCode"].split(":")
        return Ended(fields["JobState"], int(code), int(signal), fields["Reason"])

    def wait_until(self, job: str, state: str, seconds: float = 60) -> None:
        """Until a job is in the state. Raises StillRunning after ``seconds``."""
        deadline = time.monotonic() + seconds
        while (seen := self.show(job)["JobState"]) != state:
            if time.monotonic() > deadline:
                raise StillRunning(f"Job {job} is {seen}, not {state}.\n{self.squeue()}")
            time.sleep(0.05)

    def wait_for(self, file: Path, text: str = "", seconds: float = 60) -> None:
        """Until a job has written the text to the file. Raises StillRunning after ``seconds``."""
        deadline = time.monotonic() + seconds
        while not (file.exists() and text in file.read_text()):
            if time.monotonic() > deadline:
                raise StillRunning(
                    f"No job has written {text!r} to {file}.\n{self.squeue()}\n{self.machine.logs()}"
                )
            time.sleep(0.05)

    def run(
        self,
        script: Path | str,
        *options: str,
        cwd: Path,
        arguments: Sequence[str] = (),
        seconds: float = 120,
    ) -> tuple[Ended, str]:
        """Submit, wait, and return how the job ended and what it printed."""
        job = self.sbatch(script, *options, f"--output={cwd}/%j.out", cwd=cwd, arguments=arguments)
        ended = self.wait(job, seconds)
        return ended, (cwd / f"{job}.out").read_text()

    def squeue(self) -> str:
        """The queue, as people see it."""
        return self.machine.client("squeue", "--long").stdout

    def state_of(self, node: str) -> str:
        """``idle``, ``mixed``, ``down*`` ..."""
        return self.machine.client("sinfo", "--noheader", "--format=%T", f"--nodes={node}").stdout.strip()

    def kill_node(self, name: str) -> None:
        """Cut a node's power. For a cluster of the test's own: it does not come back."""
        assert name in self.nodes
        self.machine.kill(name)


@contextlib.contextmanager
def virtual_cluster(*more_lines: str) -> Iterator[Cluster]:
    """Start a cluster; ``more_lines`` are added to slurm.conf. Everything is gone on leaving."""
    with folder_of_a_machine() as folder:
        make_gpus(folder)
        daemons.write(folder, [*slurm_conf(folder), *more_lines], gres_conf(folder))
        started = [daemons.munge(folder), daemons.controller(folder)]
        started += [daemons.node(folder, name) for name in NODES]
        hosts = {"head": "10.0.0.100", "localhost": "127.0.0.1"}
        hosts |= {name: address(i) for i, name in enumerate(NODES, 1)}
        with machine(folder, hosts, started) as running:
            cluster = Cluster(running)
            wait_until_idle(cluster)
            yield cluster


def address(i: int) -> str:
    """Of node i, from 1 on: each has its own, so that a mistaken one is noticed."""
    return f"10.0.0.{i}"


def slurm_conf(folder: Path) -> list[str]:
    """The nodes. They claim more cores than the machine may have: nothing is pinned."""
    cores = f"CPUs={CPUS} Boards=1 SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory=4000"
    gpus = f"Gres=gpu:{GPU_TYPE}:{GPUS}"
    nodes = [
        f"NodeName={name} NodeHostname={name} NodeAddr={address(i)} Port={7000 + i} {cores} {gpus}"
        for i, name in enumerate(NODES, 1)
    ]
    return [
        f"SlurmdSpoolDir={folder}/spool.%n",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        f"SlurmdLogFile={folder}/log/%n.log",
        "SlurmdParameters=config_overrides",
        "SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=1",
        "KillWait=2",
        "MaxArraySize=2001",
        *nodes,
        f"PartitionName=gpu Nodes={','.join(NODES)} Default=YES MaxTime=01:00:00",
    ]


def make_gpus(folder: Path) -> None:
    """Device files that slurmd counts as GPUs: it takes no other kind of file. These are as /dev/null."""
    for i in range(GPUS):
        os.mknod(folder / f"nvidia{i}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def gres_conf(folder: Path) -> list[str]:
    """Which files are GPUs."""
    return [f"NodeName={','.join(NODES)} Name=gpu Type={GPU_TYPE} File={folder}/nvidia[0-{GPUS - 1}]"]


def wait_until_idle(cluster: Cluster, seconds: float = 60) -> None:
    """Until all nodes can take jobs. The limit is for a machine with much else to do."""
    deadline = time.monotonic() + seconds
    while cluster.machine.is_up() and time.monotonic() < deadline:
        seen = cluster.machine.client("sinfo", "--noheader", "--Node", "--format=%T").stdout.split()
        if seen == ["idle"] * len(NODES):
            return
        time.sleep(0.05)
    raise DidNotStart(f"The virtual cluster did not come up.\n{cluster.machine.logs()}")
