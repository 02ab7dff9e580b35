"""A virtual machine made of namespaces: own host names, own network, own processes; the files are the host's.

Nothing can collide with another one or with the host's own Slurm: every port is free in a new network
namespace. Nothing is left either: see `first_process`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.slurm.missing import NAMESPACES, program

CLIENTS = ("sbatch", "srun", "squeue", "scontrol", "sinfo", "scancel", "sacct")
FIRST_PROCESS = Path(__file__).with_name("first_process.py")
# Of a job or a launcher that the tests themselves may run under: nothing of it is meant for ours.
FOREIGN = ("SLURM_", "SBATCH_", "SRUN_", "PMI", "SQUEUE_", "SINFO_", "TORCHELASTIC_")
LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class DidNotStart(Exception):
    """The daemons are not up; the message has the ends of their logs."""


@dataclass(frozen=True)
class Daemon:
    """A process of the machine. The next one starts once the file ``awaited`` is there."""

    name: str
    command: Sequence[str]
    awaited: Path | None = None


@dataclass(frozen=True)
class Machine:
    """A machine that runs. ``environment`` is for its clients: SLURM_CONF, and PATH with wrappers of them."""

    folder: Path
    environment: dict[str, str] = field(repr=False)
    _process: subprocess.Popen[str] = field(repr=False)

    def client(
        self, *command: str, cwd: Path | None = None, stdin: str = "", timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run sbatch or another client on it, for at most ``timeout`` seconds."""
        return subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def kill(self, daemon: str) -> None:
        """As if the power was cut: the daemon is gone on return, and with it whatever it had started."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(daemon + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def is_up(self) -> bool:
        """Whether its first process runs, and with it the daemons."""
        return self._process.poll() is None

    def logs(self) -> str:
        """The last lines of what each daemon has written."""
        ends = []
        for output in sorted((self.folder / "log").glob("*.out")):
            log = output.with_suffix(".log")  # has what the daemon printed and what the steps say
            text = (log if log.exists() else output).read_text(errors="replace")
            ends.append("\n".join([f"--- {output.stem}", *text.splitlines()[-15:]]))
        return "\n".join(ends)


@contextlib.contextmanager
def folder_of_a_machine() -> Iterator[Path]:
    """A folder for all that the daemons write. Its path is short: those of sockets have to be (107 bytes)."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        folder.chmod(0o711)  # munge asks for a socket that everybody can come to
        for name in ("log", "state", "bin", "nothing", "munge"):
            (folder / name).mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def machine(folder: Path, hosts: dict[str, str], daemons: Sequence[Daemon]) -> Iterator[Machine]:
    """Start the daemons; end them, and all that they have started, on leaving.

    ``hosts`` are names and addresses, of which the first is the machine's own. slurm.conf is in ``folder``.
    """
    (folder / "hosts").write_text("".join(f"{address} {name}\n" for name, address in hosts.items()))
    plan = {
        "folder": str(folder),
        "logs": str(folder / "log"),
        "hostname": next(iter(hosts)),
        # Inside, clients are found where they are installed: the wrappers lead in from outside.
        "mounts": [(str(folder / "hosts"), "/etc/hosts"), (str(folder / "nothing"), str(folder / "bin"))],
        "daemons": [(it.name, list(it.command), it.awaited and str(it.awaited)) for it in daemons],
    }
    with open(folder / "log" / "first_process.out", "w") as log:
        first = [sys.executable, "-I", "-S", str(FIRST_PROCESS), json.dumps(plan)]
        process = subprocess.Popen(
            ["unshare", *NAMESPACES, "--propagation", "private", *first],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for pytest, which ends this in its own time
        )
    assert process.stdin and process.stdout
    started = Machine(folder, environment(folder), process)
    try:
        # Before that, the way in would lead to the host's own namespaces.
        if process.stdout.readline() != "started\n":
            raise DidNotStart(f"The virtual machine did not start.\n{started.logs()}")
        write_wrappers(folder / "bin", process.pid)
        yield started
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()  # its child goes with it
            process.wait()
        process.stdout.close()


def environment(folder: Path) -> dict[str, str]:
    """The caller's, without what another job has left in it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(FOREIGN) and name not in LAUNCHED
    }
    path = os.pathsep.join([str(folder / "bin"), kept.get("PATH", ""), "/usr/bin", "/bin"])
    return {**kept, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}


def write_wrappers(into: Path, pid: int) -> None:
    """A program for each client that runs the real one inside, in the caller's working directory."""
    inside = [f"--{option}=/proc/{pid}/ns/{name}" for option, name in (("mount", "mnt"), ("net", "net"))]
    inside += [f"--uts=/proc/{pid}/ns/uts", f"--ipc=/proc/{pid}/ns/ipc"]
    inside += [f"--pid=/proc/{pid}/ns/pid_for_children", '--wdns="$PWD"']
    for name in CLIENTS:
        wrapper = into / name
        wrapper.write_text(f'#!/bin/sh\nexec nsenter {" ".join(inside)} -- {program(name)} "$@"\n')
        wrapper.chmod(0o755)
