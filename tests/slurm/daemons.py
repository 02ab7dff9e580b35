"""The commands of munge and Slurm, with everything that they read and write in one folder."""

from __future__ import annotations

import functools
import re
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.slurm.machine import Daemon
from tests.slurm.missing import program

# A node has its own host name and its own processes: all of them die with the first one.
NODE = ("--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def munge(folder: Path) -> Daemon:
    """Who asks, and that it is one of us: with a key that only this folder has."""
    home = folder / "munge"
    home.chmod(0o755)
    key, socket = home / "key", munge_socket(folder)
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    files = [f"--key-file={key}", f"--socket={socket}", f"--seed-file={home}/seed", f"--pid-file={home}/pid"]
    return Daemon("munged", [path_of("munged"), "--foreground", "--num-threads=2", *files], socket)


def munge_socket(folder: Path) -> Path:
    """Where munge listens."""
    return folder / "munge" / "socket"


def controller(folder: Path) -> Daemon:
    """The one that has the queue."""
    return Daemon("slurmctld", [path_of("slurmctld"), "-D", "-c", "-f", str(folder / "slurm.conf")])


def node(folder: Path, name: str) -> Daemon:
    """A compute node: its name is also the host's name there."""
    # The shell stays as the node's first process, and reaps what the steps leave.
    script = 'hostname "$0"; "$@" & wait'
    slurmd = [path_of("slurmd"), "-D", "-N", name, "-f", str(folder / "slurm.conf")]
    return Daemon(name, ["unshare", *NODE, "sh", "-c", script, name, *slurmd])


def common_lines(folder: Path) -> list[str]:
    """The part of slurm.conf that has nothing to do with nodes."""
    return [
        "ClusterName=virtual",
        "SlurmctldHost=head(10.0.0.100)",
        "SlurmUser=root",
        "SlurmdUser=root",
        f"AuthInfo=socket={munge_socket(folder)}",
        f"StateSaveLocation={folder}/state",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        "ProctrackType=proctrack/linuxproc",  # cgroups belong to the host
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "GresTypes=gpu",
        "EnforcePartLimits=ALL",  # as most sites: what can never run is refused, not queued
        "MinJobAge=3600",  # `scontrol show job` is the only history: there is no slurmdbd
        "ReturnToService=2",
    ]


def write(folder: Path, slurm_conf: Sequence[str], gres_conf: Sequence[str] = ()) -> None:
    """Write what the daemons and the clients read."""
    (folder / "slurm.conf").write_text("\n".join([*common_lines(folder), *slurm_conf, ""]))
    if gres_conf:
        (folder / "gres.conf").write_text("\n".join([*gres_conf, ""]))
    if version() >= (24, 5):
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    elif version() >= (23, 11):
        (folder / "cgroup.conf").write_text("IgnoreSystemd=yes\n")


@functools.cache
def version() -> tuple[int, int]:
    """Of Slurm: (22, 5), (24, 11)."""
    said = subprocess.run([path_of("slurmd"), "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found, said
    return int(found[1]), int(found[2])


def path_of(name: str) -> str:
    """The full path of a program that `missing` has found."""
    found = program(name)
    assert found, f"{name} is not installed"
    return found
