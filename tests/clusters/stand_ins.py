"""Stand-ins for Slurm's programs and for Python, so that a rendered script itself runs on this machine.

``srun`` starts one task on each of the job's nodes, with the variables that Slurm sets there; a real Slurm is
in ``tests/slurm``. ``python3`` writes down how it was called, and ends as ``$STATUS_OF_<node>`` says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SRUN = """
import os, subprocess, sys
words = sys.argv[1:]
options = []
while words[0].startswith("-"):
    options.append(words.pop(0))
with open(os.environ["CALLS"] + "/srun", "w") as file:
    file.write("\\0".join(options))
tasks = [
    subprocess.Popen(words, env=os.environ | {"SLURM_NODEID": str(node), "SLURM_PROCID": str(node)})
    for node in range(int(os.environ["SLURM_NNODES"]))
]
sys.exit(max(task.wait() for task in tasks))
"""
PYTHON = """
import json, os, signal, sys
node = os.environ.get("SLURM_NODEID", "0")
with open(os.environ["CALLS"] + "/node" + node, "w") as file:
    json.dump({"words": sys.argv[1:], "environment": dict(os.environ)}, file)
print("printed by", node)
print("said by", node, file=sys.stderr)
if os.environ.get("TERMINATED") == node:  # as srun does it: the whole step
    os.kill(os.getppid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(int(os.environ.get("STATUS_OF_" + node, "0")))
"""
SCONTROL = """
import os, sys
assert sys.argv[1:] == ["show", "hostnames", os.environ["SLURM_JOB_NODELIST"]]
print("n1\\nn2\\nn3")
"""


@dataclass(frozen=True)
class Ran:
    """How a script ended, and how each node's torchrun was called (words and environment)."""

    status: int
    out: str
    err: str
    srun: list[str]
    nodes: list[dict[str, Any]]


def run_script(script: str, folder: Path, *arguments: str, **environment: str) -> Ran:
    """Run a script in ``folder`` as sbatch would on the job's first node; variables "" are taken out."""
    bin_, calls = folder / "stand-ins", folder / "calls"
    bin_.mkdir(exist_ok=True)
    calls.mkdir()
    for name, text in (("srun", SRUN), ("python3", PYTHON), ("scontrol", SCONTROL)):
        add_program(folder, name, text)
    path = folder / "slurm_script"
    path.write_text(script, encoding="utf-8")
    given = {
        "PATH": f"{bin_}:{os.environ['PATH']}", "CALLS": str(calls), "SLURM_JOB_ID": "123456",
        "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_NNODES": "3", "SLURM_CPUS_PER_TASK": "4",
        "SLURM_GPUS_ON_NODE": "2", "SLURM_NODEID": "0", "SLURM_PROCID": "0", "HOME": str(folder),
    } | environment  # fmt: skip
    done = subprocess.run(
        ["bash", path, *arguments],
        cwd=folder,
        env={name: value for name, value in given.items() if value},
        capture_output=True,
        text=True,
        timeout=120,
    )
    nodes = [json.loads(one.read_text()) for one in sorted(calls.glob("node*"))]
    srun = (calls / "srun").read_text().split("\0") if (calls / "srun").exists() else []
    return Ran(done.returncode, done.stdout, done.stderr, srun, nodes)


def add_program(folder: Path, name: str, text: str) -> Path:
    """A program written in Python, in the folder of stand-ins."""
    path = folder / "stand-ins" / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path
