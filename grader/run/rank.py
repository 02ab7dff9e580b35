"""What one rank does: for each case, load the student's file, drive the exercise, leave an artifact."""

from __future__ import annotations

import importlib
import io
import os
import resource
import signal
import site
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import safetensors.torch
import torch

from grader import lazy_compiler
from grader.exercises import drive
from grader.exercises.contract import Case, Exercise, Lab, WrongReturn
from grader.run import pipes, shares
from grader.run.clean_slate import CleanSlate
from grader.run.communication import Communication
from grader.run.record import Record, describe_error, write
from grader.run.workspace import Workspace

_FILES_KEPT = 32


def main(folder: str) -> NoReturn:
    """Run this rank's part of the job in ``folder``. The elastic agent has set RANK and its like.

    Does not return: the warden ends the process.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # the agent's handlers were inherited
    lazy_compiler.postpone()  # torchrun's ranks have imported torch themselves
    _seed_no_absent_devices()
    workspace = Workspace(Path(folder))
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    status = os.open(workspace.status(rank), os.O_WRONLY | os.O_NONBLOCK)
    _speak_into(workspace.output(rank))
    spec = workspace.load_spec()
    given = _take_shares(workspace, spec, rank)
    pipes.say(status, "started")
    # No student code before every rank is there: it could stop the others from starting, and what fails
    # until then is the grader's fault.
    os.close(os.open(workspace.go, os.O_RDONLY))
    lab: Lab = importlib.import_module(f"grader.exercises.{spec['lab']}").LAB
    talk = Communication(status, Path(spec["submission"]), rank)
    talk.watch()
    slate = CleanSlate(Path(spec["submission"]))
    for index, case in enumerate(Case.from_json(data) for data in spec["cases"]):
        if index:
            slate.wipe()
        pipes.say(status, "case", case=index)
        talk.begin(workspace.artifacts / f"case{index}-rank{rank}.operations")
        record = Record(spec["run_id"], index, rank, world_size, spec["limits"]["artifact_mb"])
        with _fewer_files():
            _run_case(lab, lab[case.exercise], case, spec, record, given.get(index))
        talk.end()
        _flush()
        write(record, workspace.artifacts)
        if record.outcome != "returned":
            pipes.say(status, "failed")
            _wait_to_be_ended()
    pipes.say(status, "finished")
    _wait_to_be_ended()


def _seed_no_absent_devices() -> None:
    """torch.manual_seed notes the seed, with the whole stack, for kinds of devices that might turn up later:
    a fifth of a right job's time."""
    for devices in (torch.xpu, torch.mtia):
        if not devices.is_available():
            devices.manual_seed_all = lambda seed: None  # type: ignore[attr-defined]


@contextmanager
def _fewer_files() -> Iterator[None]:
    """Student code that opens files without end must leave some for its record."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(0, usual[0] - _FILES_KEPT), usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def _wait_to_be_ended() -> NoReturn:
    """A rank that failed or is done stays, so that its peers do not fail by its absence: they come as far as
    they can, and what each leaves does not depend on who was quicker. The warden ends the job."""
    while True:
        time.sleep(3600)


def _take_shares(workspace: Workspace, spec: dict[str, Any], rank: int) -> dict[int, dict[str, torch.Tensor]]:
    """What this rank is given, by case."""
    names = {index: f"case{index}-rank{rank}" for index in range(len(spec["cases"]))}
    return {
        index: safetensors.torch.load(shares.take(workspace, name, spec["shares"][name]))
        for index, name in names.items()
        if name in spec["shares"]
    }


def _run_case(
    lab: Lab,
    exercise: Exercise,
    case: Case,
    spec: dict[str, Any],
    record: Record,
    given: dict[str, torch.Tensor] | None,
) -> None:
    folder = Path(spec["submission"])
    begun = time.monotonic()
    try:
        with drive.Student(lab, folder, Path(spec["staff_utils"]), case, spec["device"], given) as student:
            if exercise.whole_file:
                record.returned(student.run_whole_file(record.comparisons))
            elif missing := student.missing(exercise.probe(case.check).entries):
                record.missing(lab.file, missing)
            else:
                record.returned(student.drive(exercise, record.rank))
                record.work = student.work
    except WrongReturn as problem:
        record.wrong_type(str(problem))
    except BaseException as error:
        # SystemExit and KeyboardInterrupt too: a student's exit() must not look like the end of the job.
        record.raised(describe_error(error, folder))
    record.seconds = time.monotonic() - begun


def _speak_into(pipe: Path) -> None:
    """Let this process's standard output and error go to the warden, line by line; no standard input."""
    descriptor = os.open(pipe, os.O_WRONLY)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, null), (1, descriptor), (2, descriptor)):
        os.dup2(source, target)
    os.close(null)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stdout, sys.stderr = _text_stream(1), _text_stream(2)
    site.setquit()  # exit() and quit(), which python -S leaves out


def _text_stream(descriptor: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a student may have closed or replaced it, by None for instance
            continue
