"""The commands as people and scripts use them: what they print, and their exit status."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader.cli import app
from tests.grading import COURSE, without_timelines

ROOT = COURSE.root


def grader(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("submission", "score", "status"),
    [
        ("reference/assignment4.py", 100, 0),
        ("assignment/assignment4.py", 0, 1),
        ("examples/partly_right", 60, 1),
    ],
)
def test_the_reference_gets_everything_the_skeleton_nothing_and_the_example_what_the_readme_says(
    submission: str, score: int, status: int, tmp_path: Path
) -> None:
    out = tmp_path / "report.json"
    done = grader("check", ROOT / submission, "--course", ROOT, "--json", out)
    assert f"{score} / 100" in done.stdout
    assert done.exit_code == status
    report = json.loads(out.read_text())
    assert (report["schema"], report["score"], report["max_score"]) == (1, score, 100)
    if score == 0:
        assert {exercise["score"] for exercise in report["exercises"]} == {0}


def test_the_readme_shows_what_the_example_really_gets() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "partly_right: 60 / 100  marks lost" in readme


@pytest.mark.sandbox
def test_a_zip_is_graded_with_the_seed_that_replays_it(tmp_path: Path) -> None:
    archive = tmp_path / "handed in.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(ROOT / "reference" / "assignment4.py", "my work/assignment4.py")
    first = grader("check", archive, "--course", ROOT, "--only", "single_step", "--json", "-")
    assert first.exit_code == 0
    report = json.loads(first.stdout)
    again = grader(
        "check",
        archive,
        "--course",
        ROOT,
        "--only",
        "single_step",
        "--json",
        "-",
        "--seed",
        str(report["seed"]),
    )
    repeated = json.loads(again.stdout)
    assert without_timelines(repeated["exercises"]) == without_timelines(report["exercises"])
    assert [part["status"] for part in report["exercises"]].count("skipped") == 6
    assert report["max_score"] == 10


@pytest.mark.sandbox
def test_without_a_sandbox_the_report_says_so(tmp_path: Path) -> None:
    submission = tmp_path / "assignment4.py"
    shutil.copy(ROOT / "reference" / "assignment4.py", submission)
    done = grader(
        "check", submission, "--course", ROOT, "--only", "single_step", "--sandbox", "none", "--json", "-"
    )
    report = json.loads(done.stdout)
    assert (done.exit_code, report["sandbox"]) == (0, "none")
    assert any("without a sandbox" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.zip"], "nowhere.zip"),
        (["README.md"], "README.md"),
        (["reference/assignment4.py", "--only", "no_such_exercise"], "no_such_exercise"),
        (["reference/assignment4.py", "--device", "cuda"], "GPU"),
        (["reference/assignment4.py", "--json", "no/such/folder/report.json"], "no/such/folder"),
        (
            ["reference/assignment4.py", "--format", "pdf"],
            "The formats are json, html, md",
        ),
        (["reference/assignment4.py", "--format", "md="], "names no file"),
        (["reference/assignment4.py", "--format", "junit=no/such/folder/x.xml"], "no/such/folder"),
        (["reference/assignment4.py", "--format", "md=-", "--json", "-"], "Two formats would go to standard"),
        (["reference/assignment4.py", "--format", "md", "--format", "junit=report.md"], "report.md"),
        (["reference/assignment4.py", "--audience", "everybody"], "everybody"),
    ],
)
def test_wrong_usage_ends_with_status_2_and_a_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = grader("check", *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_without_bubblewrap_the_package_is_named_and_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = grader("check", ROOT / "reference" / "assignment4.py", "--course", ROOT)
    assert done.exit_code == 3
    assert "bubblewrap" in done.stderr
    assert "--sandbox none" in done.stderr


def test_a_broken_rubric_is_reported_with_file_and_key(tmp_path: Path) -> None:
    course = tmp_path / "course"
    shutil.copytree(ROOT / "assignment", course / "assignment")
    shutil.copytree(ROOT / "reference", course / "reference")
    rubric = course / "reference" / "rubric.toml"
    rubric.write_text(rubric.read_text().replace("tolerance =", "tolerence ="))
    done = grader("check", ROOT / "reference" / "assignment4.py", "--course", course)
    assert done.exit_code == 2
    assert "rubric.toml" in done.stderr
    assert "tolerence" in done.stderr


def test_the_skeletons_are_those_of_the_reference() -> None:
    assert grader("skeleton", "--check", "--course", ROOT).exit_code == 0


def test_a_changed_skeleton_is_shown_and_fails_the_check(tmp_path: Path) -> None:
    course = tmp_path / "course"
    shutil.copytree(ROOT / "assignment", course / "assignment")
    shutil.copytree(ROOT / "reference", course / "reference")
    with open(course / "assignment" / "assignment4.py", "a") as skeleton:
        skeleton.write("# a line too many\n")
    done = grader("skeleton", "--check", "--course", course)
    assert done.exit_code == 1
    assert "-# a line too many" in done.stdout
    assert grader("skeleton", "--course", course).exit_code == 0
    assert grader("skeleton", "--check", "--course", course).exit_code == 0


@pytest.mark.sandbox
@pytest.mark.slow
def test_an_installed_package_grades_like_the_checkout(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", site, ROOT], check=True, timeout=300)
    command = [sys.executable, "-c", "from grader.cli import main; main()", "check", "assignment4.py"]
    done = subprocess.run(
        [*command, "--course", ROOT, "--only", "data_parallel", "--json", "-"],
        cwd=ROOT / "reference",
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "passed"
