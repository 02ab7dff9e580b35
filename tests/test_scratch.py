"""Temporary folders go with their process, or with the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader import scratch

MAKES_ONE = """
from pathlib import Path
from grader.scratch import scratch
with scratch() as folder:
    Path(folder, "staged").write_text("x")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_YOUNG", -1.0)  # the clock of a file system may be a little behind
    return tmp_path


def other_process(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES_ONE],
        env={**os.environ, "TMPDIR": str(parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_removed_after_the_block(parent: Path) -> None:
    with scratch.scratch() as folder:
        assert folder.is_dir()
    assert list(parent.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(parent: Path) -> None:
    process, left = other_process(parent)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (left / "staged").exists()
    with scratch.scratch():
        assert not left.exists()


def test_what_another_process_uses_stays(parent: Path) -> None:
    process, used = other_process(parent)
    with scratch.scratch():
        assert (used / "staged").exists()
    process.communicate("\n")
    assert list(parent.iterdir()) == []


def test_folders_that_are_not_ours_stay(parent: Path) -> None:
    (parent / "grader-of-somebody").mkdir()
    (parent / "grader-link").symlink_to(parent / "grader-of-somebody")
    with scratch.scratch():
        assert (parent / "grader-of-somebody").is_dir()
        assert (parent / "grader-link").is_symlink()
