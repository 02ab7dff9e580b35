"""A class from the command line: whole results, the same however many at once and however often killed."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.corpus import CORPUS, load_case
from tests.grading import COURSE, without_timelines
from tests.intake.archives import zip_of

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

STUDENTS = {"ann": "correct/matmul", "bob": "wrong/data_parallel_not_averaged", "cy": "wrong/send_recv_order"}


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("downloads")
    for student, case in STUDENTS.items():
        (folder / f"{student}.zip").write_bytes(zip_of(load_case(CORPUS / case)))
    (folder / "dee.zip").write_bytes(b"PK\x03\x04 and no more")
    return folder


def command(downloads: Path, out: Path, *more: str) -> list[str]:
    grader = [sys.executable, "-c", "from grader.cli import main; main()", "check", str(downloads)]
    return [*grader, "--out", str(out), "--seed", "7", "--course", str(COURSE.root), *more]


def results(out: Path) -> dict[str, Any]:
    """All that a class leaves, without times."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*.json")):
        data = json.loads(path.read_text())
        for key in ("seconds", "graded_at", "report", "machine"):
            data.pop(key, None)
        found[path.relative_to(out).as_posix()] = without_timelines(data)
    with open(out / "gradebook.csv", newline="") as file:
        found["gradebook"] = [{**row, "graded_at": ""} for row in csv.DictReader(file)]
    return found


@pytest.fixture(scope="module")
def undisturbed(downloads: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(command(downloads, out, "--jobs", "1"), check=True, timeout=300, capture_output=True)
    return out


def test_every_student_has_a_row_and_a_report(undisturbed: Path) -> None:
    rows = {row["student"]: row for row in results(undisturbed)["gradebook"]}
    assert {student: (row["status"], row["score"]) for student, row in rows.items() if student != "dee"} == {
        "ann": ("passed", "100"),
        "bob": ("failed", "75"),
        "cy": ("failed", "75"),
    }
    assert rows["dee"]["status"].startswith("nothing to grade: dee.zip begins like a zip archive")
    assert rows["dee"]["score"] == "0"


def test_two_at_once_give_what_one_at_a_time_gives(
    downloads: Path, undisturbed: Path, tmp_path: Path
) -> None:
    subprocess.run(command(downloads, tmp_path, "--jobs", "2"), check=True, timeout=300, capture_output=True)
    assert results(tmp_path) == results(undisturbed)


def test_a_run_that_is_killed_again_and_again_comes_to_the_same(
    downloads: Path, undisturbed: Path, tmp_path: Path
) -> None:
    _kill(downloads, tmp_path, times=3, seconds=(1, 6))
    assert results(tmp_path / "out") == results(undisturbed)


@pytest.mark.exhaustive
def test_fifty_kills_change_nothing(downloads: Path, tmp_path: Path) -> None:
    many, undisturbed = tmp_path / "many", tmp_path / "undisturbed"
    many.mkdir()
    for number in range(10):
        for hand_in in downloads.iterdir():
            (many / f"{hand_in.stem}{number}.zip").write_bytes(hand_in.read_bytes())
    subprocess.run(command(many, undisturbed), check=True, timeout=900, capture_output=True)
    done = _kill(many, tmp_path, times=50, seconds=(3, 9))
    assert results(tmp_path / "out") == results(undisturbed)
    # Hand-ins are done some at a time: the kills came at several points of the class, none behind its end.
    assert len(set(done)) > 3 and max(done) < len(list(many.iterdir()))


def _kill(downloads: Path, folder: Path, times: int, seconds: tuple[float, float]) -> list[int]:
    """Kill runs over the class, each after so many seconds, and let the last one finish. How many hand-ins
    each had found done. Raises AssertionError for one that is graded twice and for processes that stay."""
    generator = random.Random(times)
    token = f"class-{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "CLASS_TOKEN": token, "TMPDIR": str(folder)}
    out, kept, done = folder / "out", set[str](), []
    for _ in range(times):
        done.append(len(kept))
        process = subprocess.Popen(
            command(downloads, out), env=environment, stdout=subprocess.PIPE, text=True
        )
        time.sleep(generator.uniform(*seconds))  # whenever it comes
        process.send_signal(signal.SIGKILL)
        printed, _ = process.communicate()
        again = {line.split()[0] for line in printed.splitlines() if re.search(r" \d+\.\d s( |$)", line)}
        assert not again & kept, "graded twice"
        kept = {path.parent.name for path in out.rglob("result.json")}
    subprocess.run(command(downloads, out), env=environment, check=True, timeout=900, capture_output=True)
    _assert_gone(token, str(folder))
    return done


def _assert_gone(token: str, folder: str) -> None:
    """Neither a grader nor a sandbox over ``folder`` (bubblewrap's own process names it) is there."""
    deadline = time.monotonic() + 30
    while left := [
        process.pid
        for process in psutil.process_iter(["environ", "cmdline"])
        if (process.info["environ"] or {}).get("CLASS_TOKEN") == token
        or any(folder in word for word in process.info["cmdline"] or ())
    ]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
