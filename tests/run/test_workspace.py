from __future__ import annotations

import os
import socket
import stat

import pytest

from grader.run.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    made = Workspace(tmp_path / "job")
    made.create({"world_size": 2, "run_id": "r"}, os.geteuid())
    return made


def test_a_workspace_has_a_spec_and_two_pipes_for_each_rank(workspace):
    assert workspace.load_spec() == {"world_size": 2, "run_id": "r"}
    for rank in range(2):
        assert stat.S_ISFIFO(workspace.status(rank).stat().st_mode)
        assert stat.S_ISFIFO(workspace.output(rank).stat().st_mode)
    assert stat.S_ISFIFO(workspace.go.stat().st_mode)


def test_artifacts_are_collected_by_name(workspace):
    wanted = {"case0-rank0.json": b"{}", "case12-rank345.safetensors": b"\x00"}
    others = (
        "case0-rank0.partial",
        "case0.json",
        "case0-rank0.json.bak",
        "Case0-rank0.json",
        "case-1-rank0.json",
    )
    for name in (*wanted, *others, "case0-rank0.jsonx", "case٣-rank0.json"):
        (workspace.artifacts / name).write_bytes(wanted.get(name, b"x"))
    files, remark = workspace.collect(1000)
    assert (files, remark) == (wanted, "")


@pytest.mark.parametrize(
    "kind", ["pipe", "link to a file", "link to nothing", "folder", "socket", "too large"]
)
def test_what_is_no_regular_file_is_left_out_without_waiting(workspace, tmp_path, kind, monkeypatch):
    monkeypatch.chdir(workspace.artifacts)  # the path of a socket must be short
    name = "case0-rank0.json"
    match kind:
        case "pipe":
            os.mkfifo(name)
        case "link to a file":
            os.symlink("/etc/passwd", name)
        case "link to nothing":
            os.symlink(name, name)
        case "folder":
            os.mkdir(name)
        case "socket":
            with socket.socket(socket.AF_UNIX) as sock:
                sock.bind(name)
        case "too large":
            with open(name, "wb") as file:
                file.truncate(1 << 40)
    (workspace.artifacts / "case1-rank0.json").write_bytes(b"{}")
    files, remark = workspace.collect(1000)
    assert files == {"case1-rank0.json": b"{}"}
    assert remark.startswith("case0-rank0.json is not a regular file")


def test_the_limit_holds_for_all_artifacts_together(workspace):
    for case in range(5):
        (workspace.artifacts / f"case{case}-rank0.safetensors").write_bytes(b"x" * 400)
    files, remark = workspace.collect(1000)
    assert sum(map(len, files.values())) == 800
    assert remark


@pytest.mark.parametrize("kind", ["gone", "a file"])
def test_a_folder_of_artifacts_that_is_none_is_a_remark(workspace, kind):
    workspace.artifacts.rmdir()
    if kind == "a file":
        workspace.artifacts.write_text("")
    files, remark = workspace.collect(1000)
    assert files == {}
    assert "could not be read" in remark
