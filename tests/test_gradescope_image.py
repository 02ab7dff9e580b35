"""Gradescope's scripts: a valid results.json whatever becomes of the grader, and a zip with all they need."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader.course import find_course
from grader.gradescope_image import write_image
from tests.grading import COURSE

SCRIPTS = COURSE.root / "templates" / "gradescope"
GRADED = '{"score": 85.0, "tests": [{"name": "one", "score": 85.0, "max_score": 100.0}]}'
# Writes what it was given to the place that --format names, as the grader does: in one step.
WRITE = (
    "for word; do case $word in gradescope=*) out=${word#gradescope=};; esac; done; "
    'printf "%s" "$RESULT" >"$out"'
)
HANG = 'touch "$AUTOGRADER_ROOT/hangs"; mkfifo "$AUTOGRADER_ROOT/never"; read -r _ <"$AUTOGRADER_ROOT/never"'


class Image:
    """A folder laid out like /autograder, with a stand-in for the grader."""

    def __init__(self, root: Path, grader: str) -> None:
        self.root = root
        for folder in ("venv/bin", "source", "submission"):
            (root / folder).mkdir(parents=True)
        (root / "source" / "seed").write_text("7\n")
        (root / "venv/bin/python").symlink_to(sys.executable)
        self._program("grader", grader)

    def _program(self, name: str, text: str) -> None:
        path = self.root / "venv/bin" / name
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"$AUTOGRADER_ROOT/words"\n{text}\n')
        path.chmod(0o755)

    def start(self, result: str = GRADED, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [SCRIPTS / "run_autograder"],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(self.root), "RESULT": result, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, result: str = GRADED, **more: str) -> subprocess.CompletedProcess[str]:
        process = self.start(result, **more)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def result(self) -> Any:
        assert os.listdir(self.root / "results") == ["results.json"]
        return json.loads((self.root / "results/results.json").read_bytes())

    def words(self) -> list[str]:
        return (self.root / "words").read_text().splitlines()


def assert_is_no_mark(result: Any, words: str) -> None:
    """Valid for Gradescope (a test carries a score), worth nothing of nothing, with a sentence for people."""
    assert words in result["output"]
    assert "score" not in result
    assert [(test["score"], test["max_score"]) for test in result["tests"]] == [(0, 0)]
    assert result["tests"][0]["output"] == result["output"]


@pytest.mark.parametrize("status", [0, 1, 3])
def test_what_the_grader_wrote_is_the_result_whatever_its_status(tmp_path: Path, status: int) -> None:
    image = Image(tmp_path, f"{WRITE}; exit {status}")
    assert image.run().returncode == 0
    assert image.result() == json.loads(GRADED)
    assert image.words() == [
        "check", f"{tmp_path}/submission", "--course", f"{tmp_path}/source", "--sandbox", "bwrap",
        "--seed", "7", "--format", f"gradescope={tmp_path}/results/results.json",
    ]  # fmt: skip


def test_the_sandbox_is_chosen_by_a_variable(tmp_path: Path) -> None:
    image = Image(tmp_path, WRITE)
    image.run(GRADER_SANDBOX="none")
    assert image.words()[4:6] == ["--sandbox", "none"]


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        ("exit 3", "failed (status 3)"),
        ("exit 0", "failed (status 0)"),
        ("echo 'Usage: no such option' >&2; exit 2", "failed (status 2)"),
        ("kill -KILL $$", "killed, most likely because the memory"),
        ("kill -TERM $$", "stopped before it was done"),
        (f'{WRITE}; truncate -s 20 "$out"; kill -KILL $$', "killed"),
        (f"{WRITE}; printf '[]' >\"$out\"", "failed (status 0)"),
        (f'{WRITE}; printf \'{{"score": NaN}}\' >"$out"', "failed (status 0)"),
        (f'{WRITE}; printf \'{{"output": "no score"}}\' >"$out"', "failed (status 0)"),
    ],
)
def test_a_grader_that_fails_or_is_killed_leaves_a_sentence_and_no_mark(
    tmp_path: Path, grader: str, words: str
) -> None:
    image = Image(tmp_path, f"echo 'the machine /secret' >&2; {grader}")
    done = image.run()
    assert done.returncode == 0
    assert_is_no_mark(image.result(), words)
    assert "not the fault of your work" in image.result()["output"]
    assert "/secret" not in image.result()["output"] and "/secret" in done.stderr  # for instructors


def test_what_is_wrong_with_the_file_is_told_to_who_handed_it_in(tmp_path: Path) -> None:
    said = 'noise\ngrader: There is no "assignment4.py" in a\\b é\x1b[31m.\tAdd it.'
    image = Image(tmp_path, 'printf "%s\\n" "$SAID" >&2; exit 2')
    image.run(SAID=said)
    assert_is_no_mark(image.result(), "There is no 'assignment4.py' in a/b ???[31m.?Add it.")
    assert "instructor" not in image.result()["output"]


def test_without_a_grader_there_is_a_result(tmp_path: Path) -> None:
    image = Image(tmp_path, "")
    for program in ("grader", "python"):
        (tmp_path / "venv/bin" / program).unlink()
    assert image.run().returncode == 0
    assert_is_no_mark(image.result(), "failed (status 127)")


def test_a_result_of_an_earlier_run_is_not_taken_for_this_one(tmp_path: Path) -> None:
    image = Image(tmp_path, "exit 3")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/results.json").write_text(GRADED)
    image.run()
    assert_is_no_mark(image.result(), "failed (status 3)")


@pytest.mark.parametrize(
    ("sent", "words"),
    [(signal.SIGTERM, "stopped before"), (signal.SIGINT, "stopped before"), (signal.SIGKILL, "ended")],
)
def test_when_run_autograder_itself_is_ended_a_result_is_there(
    tmp_path: Path, sent: signal.Signals, words: str
) -> None:
    image = Image(tmp_path, HANG)
    process = image.start()
    while not (tmp_path / "hangs").exists():
        assert process.poll() is None
        time.sleep(0.01)
    try:
        process.send_signal(sent)
        process.wait(timeout=60)
        result = json.loads((tmp_path / "results/results.json").read_bytes())
        assert_is_no_mark(result, words)
    finally:
        process.communicate() if sent != signal.SIGKILL else os.killpg(process.pid, signal.SIGKILL)


def test_the_zip_has_the_scripts_at_its_top_the_grader_and_the_course(tmp_path: Path) -> None:
    write_image(COURSE, tmp_path / "build" / "image.zip", 7, "file:///cpu")
    with zipfile.ZipFile(tmp_path / "build" / "image.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "source")
        modes = {name: archive.getinfo(name).external_attr >> 16 & 0o777 for name in names}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert {"constraints.txt", "grader/cli.py", "grader/run/etc/hosts", "reference/rubric.toml"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests", ".git"))]
    source = tmp_path / "source"
    assert find_course(Path("/"), source).rubric_path.is_file()
    assert ((source / "seed").read_text(), (source / "torch-index").read_text()) == ("7\n", "file:///cpu\n")


def test_the_same_course_and_seed_make_the_same_zip(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write_image(COURSE, tmp_path / name, 7)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


SYSTEM = {
    "apt-get": "",
    "apt-cache": '[ "$2" = python3.11 ]',
    "bwrap": "exit 1",
    "python3": "exit 1",  # too old
    "python3.12": "exit 1",
    "python3.13": "exit 1",
    # What the package brings: it makes an environment whose programs are stand-ins, too.
    "python3.11": '[ -e "$AUTOGRADER_ROOT/installed" ] || exit 1\n'
    'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/grader"; fi',
}


def test_setup_installs_a_new_enough_python_bubblewrap_torch_and_the_grader(tmp_path: Path) -> None:
    root, programs = tmp_path / "autograder", tmp_path / "bin"
    programs.mkdir()
    write_image(COURSE, tmp_path / "image.zip", 7, "file:///cpu")
    with zipfile.ZipFile(tmp_path / "image.zip") as archive:
        archive.extractall(root / "source")
    log = 'printf "%s " "${0##*/}" "$@" >>"$AUTOGRADER_ROOT/log"; echo >>"$AUTOGRADER_ROOT/log"'
    for name, text in SYSTEM.items():
        if name == "apt-get":
            text = 'case "$*" in *python3.11*) touch "$AUTOGRADER_ROOT/installed";; esac'
        (programs / name).write_text(f"#!/bin/sh\n{log}\n{text}\n")
        (programs / name).chmod(0o755)
    env = {"PATH": f"{programs}:/usr/bin:/bin", "AUTOGRADER_ROOT": str(root)}
    done = subprocess.run(
        ["bash", root / "source" / "setup.sh"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (root / "log").read_text().splitlines()
    installed = [line for line in lines if line.startswith("apt-get install")]
    assert [line.split()[-1] for line in installed] == ["ca-certificates", "python3.11"]
    assert "bubblewrap" in installed[0]
    pip = [line.partition("pip install ")[2].strip() for line in lines if "pip install" in line]
    common = f"--no-cache-dir --constraint {root}/source/constraints.txt"
    assert pip == [f"{common} --index-url file:///cpu torch", f"{common} {root}/source"]
    assert "cannot make a sandbox" in done.stderr
