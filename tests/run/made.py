"""Submissions made up on the spot, and the sandbox to run them in."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import tempfile
import textwrap
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import save

from grader.exercises.contract import Case
from grader.job import Job, JobResult, Limits
from grader.run import sandbox
from grader.run.sandbox import Place
from grader.run.session import Session

ROOT = Path(__file__).parents[2]
STAFF_UTILS = ROOT / "assignment" / "utils.py"
LIMITS = Limits(seconds=12, memory_mb=768, processes=96, disk_mb=24, output_kb=128)

# Jobs of one session share the submission's folder, and may run at once: the seed tells them apart.
HAND_IN = """
import importlib

def single_step(seed, device):
    return importlib.import_module(f"attack{seed}").step(device)
"""
STEP = """
import ctypes, json, os, signal, socket, subprocess, sys, threading, time
import torch
import torch.distributed as dist

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
RIGHT = torch.ones(3, 2), torch.zeros(3, 2)

def tell(**facts):
    print("TOLD " + json.dumps(facts), flush=True)

def step(device):
"""
FILES_OF_ONE_RANK = {"case0-rank0.json", "case0-rank0.safetensors"}


class Runs:
    """Runs the body of a step as a submission, in one session."""

    def __init__(self, session: Session, folder: Path, token: str) -> None:
        self.session, self.folder, self.token = session, folder, token
        self._numbers = itertools.count(1)
        self.idle: dict[int, str] = {}  # the processes that are there between two jobs

    def __call__(self, body: str, world_size: int = 1) -> JobResult:
        return self.job("single_step", self._written(body), world_size)

    def _written(self, body: str) -> int:
        seed = next(self._numbers)
        attack = STEP + textwrap.indent(textwrap.dedent(body), "    ") + "\n    return RIGHT\n"
        (self.folder / f"attack{seed}.py").write_text(attack)
        return seed

    def job(self, exercise: str, seed: int, world_size: int, **sizes: int) -> JobResult:
        """Run one case of an exercise."""
        case = Case(exercise, "baseline", seed, world_size, sizes)
        return self.session.run(Job(secrets.token_hex(8), world_size, (case,)))

    def with_weights(self, body: str, weights: Sequence[torch.Tensor]) -> JobResult:
        """Run it on as many ranks as there are weights, and give each rank its own: the rank that draws one
        of that shape has it."""
        other = {"inputs": torch.zeros(1, 1), "targets": torch.zeros(1, 1), "deep_targets": torch.zeros(1, 2)}
        case = Case("single_step", "baseline", self._written(body), len(weights), {})
        shares = {
            f"case0-rank{rank}": save({"weight": weight, **other}) for rank, weight in enumerate(weights)
        }
        return self.session.run(Job(secrets.token_hex(8), len(weights), (case,), shares=shares))

    def at_once(self, *bodies: str, world_size: int = 1) -> list[JobResult]:
        """Run several, all at the same time."""
        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(lambda body: self(body, world_size), bodies))


@contextmanager
def runs_in(how: str, launcher: str = "fork", limits: Limits = LIMITS) -> Iterator[Runs]:
    """A session in a place of `grader.run.sandbox` ("bubblewrap", "in_the_open")."""
    if how == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with tempfile.TemporaryDirectory(prefix="grader-test-") as temporary:
        Path(temporary).chmod(0o755)
        folder = Path(temporary, "submission")
        folder.mkdir()
        (folder / "assignment4.py").write_text(HAND_IN)
        other = Path(temporary, "another")
        other.mkdir()
        (other / "assignment4.py").write_text("another student's work\n")
        place, token = marked(getattr(sandbox, how)(Path(temporary), STAFF_UTILS))
        with Session(place, "assignment4", limits, launcher) as session:
            yield Runs(session, folder, token)


def marked(place: Place) -> tuple[Place, str]:
    """The place with a token in its environment, by which `processes_with` finds all that it starts."""
    token = secrets.token_hex(8)
    return replace(place, environment={**place.environment, "TEST_TOKEN": token}), token


def processes_with(token: str) -> dict[int, str]:
    """Every process of this machine, in whatever namespace, that was started with the token."""
    found = {}
    for process in psutil.process_iter():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            if token.encode() in environment and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = " ".join(process.cmdline())[:80]
        except (OSError, psutil.Error):
            continue
    return found


def left_of(token: str, expected: Collection[int] = ()) -> dict[int, str]:
    """The processes beyond ``expected`` that are still there after they have had time to end."""
    deadline = time.monotonic() + 20
    while True:
        left = {pid: name for pid, name in processes_with(token).items() if pid not in expected}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def told(result: JobResult, rank: int = 0) -> dict[str, Any]:
    """What the rank's ``tell(...)`` said."""
    lines = [line for line in result.ranks[rank].output.splitlines() if line.startswith("TOLD ")]
    assert lines, (result.ended, result.detail, result.ranks[rank].output, _records(result))
    return {name: value for line in lines for name, value in json.loads(line[5:]).items()}


def results(result: JobResult) -> dict[str, bytes]:
    """The records and tensors that the ranks left, without their logs of operations."""
    return {name: data for name, data in result.files.items() if not name.endswith(".operations")}


def record(result: JobResult, rank: int = 0) -> dict[str, Any]:
    """The record that a rank left of its only case."""
    return json.loads(result.files[f"case0-rank{rank}.json"])


def raised(result: JobResult, rank: int = 0) -> str:
    """The type of the exception that ended a rank."""
    return str(record(result, rank)["error"]["type"])


def _records(result: JobResult) -> list[bytes]:
    return [data for name, data in result.files.items() if name.endswith(".json")]


def is_root() -> bool:
    return os.geteuid() == 0
