"""Hostile submissions gain nothing, change nobody else's result, and leave the machine as it was."""

from __future__ import annotations

import os
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.corpus import CORPUS
from tests.grading import cases, grade

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ASKED = ("data_parallel", "single_step")  # most attack from the first, and must not harm the second
MARK = "hostile-was-here"
PLACES = ("/", "/tmp", "/dev/shm", "/var/tmp", "/run", "/root", "/home")


def _expected(name: str) -> dict[str, Any]:
    return tomllib.loads((CORPUS / "hostile" / name / "expect.toml").read_text(encoding="utf-8"))


def _own_processes() -> set[str]:
    """What this process has started, and what ran away to the machine's first process from a sandbox."""
    found = {f"{process.pid} {process.name()}" for process in psutil.Process().children(recursive=True)}
    here = os.readlink("/proc/self/ns/pid")
    for process in psutil.process_iter():
        try:
            strayed = process.ppid() == 1 and os.readlink(f"/proc/{process.pid}/ns/pid") != here
        except (OSError, psutil.Error):
            continue
        if strayed:
            found.add(f"{process.pid} strayed")
    return found


def _machine() -> set[str]:
    """Processes, mounts, ports that listen to others, and files that the corpus would leave."""
    listening = {
        f"{connection.laddr.ip} {connection.laddr.port}"
        for connection in psutil.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN and not connection.laddr.ip.startswith("127.")
    }
    mounts = set(Path("/proc/self/mountinfo").read_text().splitlines())
    marks = {place for place in PLACES if Path(place, MARK).exists()}
    return _own_processes() | mounts | listening | marks


@pytest.fixture
def unchanged_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    tmp_path.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before = _machine()
    yield
    deadline = time.monotonic() + 20  # the kernel needs a moment for what was killed
    while (new := _machine() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert new == set()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", cases("hostile"))
@pytest.mark.usefixtures("unchanged_machine")
def test_a_hostile_submission_gains_nothing_and_harms_nobody(name: str, tmp_path: Path) -> None:
    expected = _expected(name)
    asked = tuple(expected.get("only", ASKED))
    report = grade(f"hostile/{name}", tmp_path, limits=expected.get("limits"), hidden=1, only=asked)
    lost = {part.name: part for part in report.exercises if part.score < part.max_score}
    assert set(lost) == set(expected["loses"])
    assert {part.status for part in report.exercises} <= {
        "passed",
        "failed",
        "skipped",
    }  # no error of the grader's
    for part in lost.values():
        assert {found.code for found in part.findings} == {expected["finding"]}
        assert all(found.message.isprintable() for found in part.findings)
