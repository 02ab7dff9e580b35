"""What is said when the sandbox cannot be had, and what its command gives away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.run import sandbox
from grader.run.sandbox import SandboxError
from grader.run.session import Session
from tests.run.made import LIMITS, STAFF_UTILS


def a_bwrap_that_says(text: str, folder: Path) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit 1\n")
    program.chmod(0o755)


def test_without_bubblewrap_the_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"apt-get install bubblewrap.*--sandbox none"):
        sandbox.bubblewrap(tmp_path, STAFF_UTILS)
    assert sandbox.version() == ""


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        ("bwrap: No permissions to create new namespace", r"User namespaces are probably switched off"),
        ("bwrap: setting up uid map: Permission denied", r"apparmor_restrict_unprivileged_userns"),
        ("bwrap: Unknown option --perms", r"too old.*newer package 'bubblewrap'"),
    ],
)
def test_a_bubblewrap_that_cannot_work_is_explained(monkeypatch, tmp_path, said, explained):
    a_bwrap_that_says(said, tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place = sandbox.bubblewrap(tmp_path, STAFF_UTILS)
    with (
        Session(place, "assignment4", LIMITS) as session,
        pytest.raises(SandboxError, match=explained) as error,
    ):
        session.import_seconds()
    assert said in str(error.value)
    assert "--sandbox none" in str(error.value)


def test_an_agent_that_cannot_start_says_its_last_line():
    explained = sandbox.explain_failure(
        "Traceback\nModuleNotFoundError: No module named 'torch'\n", jailed=False
    )
    assert explained.endswith("could not start: ModuleNotFoundError: No module named 'torch'")
    assert "it said nothing" in sandbox.explain_failure("", jailed=True)


def test_a_session_whose_agent_could_not_start_says_so_every_time(monkeypatch, tmp_path):
    a_bwrap_that_says("bwrap: No permissions to create new namespace", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Session(sandbox.bubblewrap(tmp_path, STAFF_UTILS), "assignment4", LIMITS) as session:
        for _ in range(2):
            with pytest.raises(SandboxError, match="User namespaces"):
                session.import_seconds()


@pytest.mark.sandbox
def test_nothing_of_the_host_is_mounted_for_writing(tmp_path):
    command = sandbox.bubblewrap(tmp_path, STAFF_UTILS).command
    assert not {"--bind", "--bind-try", "--dev-bind", "--share-net"} & set(command)
    # Every tmpfs of bubblewrap's own is closed again: in it an ordinary user could write without a limit.
    closed = {command[index + 1] for index, word in enumerate(command) if word == "--remount-ro"}
    tmpfs = {command[index + 1] for index, word in enumerate(command) if word in ("--tmpfs", "--dev")}
    assert tmpfs < closed
    assert "/" in closed


def test_the_environment_is_made_up_and_not_inherited(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")
    monkeypatch.setenv("MASTER_PORT", "1")
    for name in ("LD_PRELOAD", "PYTHONPATH", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "of-the-host")
    environment = sandbox.in_the_open(tmp_path, STAFF_UTILS).environment
    assert not {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "MASTER_PORT", "LD_PRELOAD", "PYTHONPATH"} & set(
        environment
    )
    assert environment["OMP_NUM_THREADS"] == "1"


def test_python_starts_without_site_environment_or_working_directory(tmp_path):
    command = sandbox.in_the_open(tmp_path, STAFF_UTILS).command
    assert {"-I", "-S", "-B"} < set(command)
