"""What this machine lacks for a Slurm of our own, as a sentence for whoever reads why tests were skipped."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "unshare", "nsenter")
NAMESPACES = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")


@functools.cache
def reason_to_skip() -> str | None:
    """None where a virtual cluster can be started."""
    absent = [name for name in PROGRAMS if program(name) is None]
    if absent:
        return f"Slurm is not installed (no {', '.join(absent)}): run tests/slurm/install.sh as root."
    if os.geteuid() != 0:
        return "The daemons of Slurm and their namespaces need root."
    tried = subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode:
        return f"This machine lets nobody make namespaces, not even root: {tried.stderr.strip()}"
    return None


def program(name: str) -> str | None:
    """The full path of a program; daemons are in sbin, which not everybody has in PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"]))


def has_lua() -> bool:
    """Whether slurmctld can load a job_submit.lua."""
    return any(Path("/usr/lib").glob("*/slurm-wlm/job_submit_lua.so"))
