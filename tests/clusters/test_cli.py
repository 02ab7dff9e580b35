"""``grader render`` as people type it: what it prints, what it writes, its exit status."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader.cli import app
from tests.clusters.golden import PROFILES, ROOT, golden_path, rendered

RIGHT = golden_path("generic")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, where no course is found, and no Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("grader.clusters.verify.shutil.which", no_slurm)
    return tmp_path


_which = shutil.which


def no_slurm(program: str, path: str | None = None) -> str | None:
    return None if program == "sbatch" else _which(program, path=path)


def grader(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["render", *map(str, arguments)])


def test_the_script_is_printed_and_nothing_else() -> None:
    done = grader("generic")
    assert (done.exit_code, done.stdout, done.stderr) == (0, rendered("generic"), "")


def test_settings_and_a_file_to_write(elsewhere: Path) -> None:
    done = grader("generic", "--set", "nodes=2", "--set", "partition=class", "--out", "run.sbatch")
    assert (done.exit_code, done.stdout) == (0, "")
    text = (elsewhere / "run.sbatch").read_text()
    assert "#SBATCH --nodes=2\n" in text and "#SBATCH --partition=class\n" in text


def test_the_folder_of_logs_is_there_before_anything_is_submitted(elsewhere: Path) -> None:
    done = grader("generic", "--set", "log_dir=my/logs", "--out", "run.sbatch")
    assert done.exit_code == 0
    assert (elsewhere / "my" / "logs").is_dir()
    assert f"--output={elsewhere}/my/logs/%x_%j.log" in (elsewhere / "run.sbatch").read_text()


def test_a_folder_of_logs_that_can_only_be_made_on_the_cluster_is_told(elsewhere: Path) -> None:
    (elsewhere / "file").touch()
    done = grader("generic", "--set", "log_dir=file/logs")
    assert done.exit_code == 0
    assert f"mkdir -p {elsewhere}/file/logs" in done.stderr


def test_the_list_has_every_cluster_on_one_line_of_80_columns() -> None:
    done = grader("--list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [*PROFILES]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "grader render --list"),
        (["vist"], "Did you mean vista?"),
        (["perlmutter"], "--set account=m1234_g"),
        (["generic", "--set", "qos=a b"], "--set qos: It must be a name"),
        (["none.toml"], "none.toml cannot be read"),
        (["generic", "--out", "no/folder/x"], "The folder of no/folder/x does not exist"),
        (["--verify", "none.sbatch"], "There is no file"),
        (["--verify", str(RIGHT), "--set", "nodes=2"], "are for rendering"),
        (["generic", "--course", "nowhere"], "not a course folder"),
    ],
)
def test_wrong_usage_is_status_2_with_a_sentence(arguments: list[str], words: str) -> None:
    done = grader(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_right_script_is_status_0_and_a_rendering_can_be_looked_at_too(elsewhere: Path) -> None:
    done = grader("--verify", RIGHT)
    assert (done.exit_code, done.stdout) == (0, f"{RIGHT}: Nothing wrong was found.\n")
    done = grader("local", "--verify")
    assert (done.exit_code, done.stdout) == (0, "local: Nothing wrong was found.\n")
    done = grader("generic", "--verify", "--out", "run.sbatch")
    assert (done.exit_code, done.stdout) == (0, "run.sbatch: Nothing wrong was found.\n")
    assert (elsewhere / "run.sbatch").read_text() == rendered("generic")


def test_findings_are_sentences_with_their_lines_and_status_1(elsewhere: Path) -> None:
    script = elsewhere / "mine.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -o logs/%j.log\ncd $HOME\ntorchrun train.py\n")
    done = grader("--verify", "mine.sbatch")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("mine.sbatch:3: --output=logs/%j.log is in a folder")
    assert lines[1].startswith("mine.sbatch:4: shellcheck says: ") and "SC2164" in lines[1]
    assert lines[-1].startswith("mine.sbatch:5: torchrun is started without srun, and the job has 2 nodes.")


def test_what_a_script_holds_is_no_control_sequence_on_the_terminal(elsewhere: Path) -> None:
    (elsewhere / "x.sbatch").write_bytes(b"#!/bin/bash\n#SBATCH \x1b[2Jb\xff\ntrue\n")
    done = grader("--verify", "x.sbatch")
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout and "\\x1b[2Jb" in done.stdout


def test_without_shellcheck_it_says_so_and_asks_its_own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.clusters.verify.shutil.which", lambda *_, **__: None)
    done = grader("--verify", RIGHT)
    assert done.exit_code == 0
    assert done.stderr.startswith("grader: shellcheck is not installed")


def with_sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    path = folder / "sbatch"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setattr(
        "grader.clusters.verify.shutil.which",
        lambda program, path=None: (
            str(folder / "sbatch") if program == "sbatch" else _which(program, path=path)
        ),
    )


def test_what_sbatch_refuses_is_a_finding(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_sbatch(
        elsewhere, monkeypatch, 'echo "$@" >asked; echo "allocation failure: Invalid qos" >&2; exit 1'
    )
    done = grader("--verify", RIGHT)
    assert done.exit_code == 1
    assert "sbatch --test-only refuses it: allocation failure: Invalid qos" in done.stdout
    assert (elsewhere / "asked").read_text().startswith("--test-only ")
    # A script without directives is none of sbatch's.
    assert grader("local", "--verify").exit_code == 0


def test_an_sbatch_that_takes_it_or_cannot_be_asked_is_no_finding(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sbatch(elsewhere, monkeypatch, "echo 'sbatch: Job 4 to start at noon' >&2")
    assert grader("--verify", RIGHT).exit_code == 0
    with_sbatch(
        elsewhere, monkeypatch, "echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1"
    )
    done = grader("--verify", RIGHT)
    assert done.exit_code == 0 and "could not be asked" in done.stderr


def test_sbatch_gets_nothing_of_an_allocation_but_where_slurm_is_configured(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_CONF", "SLURM_ARRAY_JOB_ID", "SBATCH_ACCOUNT", "PMIX_RANK"):
        monkeypatch.setenv(name, "1")
    with_sbatch(elsewhere, monkeypatch, "env >seen")
    grader("--verify", RIGHT)
    seen = {line.partition("=")[0] for line in (elsewhere / "seen").read_text().splitlines()}
    assert "SLURM_CONF" in seen
    assert not {"SLURM_ARRAY_JOB_ID", "SBATCH_ACCOUNT", "PMIX_RANK"} & seen


def test_a_wheel_carries_templates_and_profiles_to_where_they_are_found(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("grader", "templates", "slurm"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('..'))"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    shutil.rmtree(source)
    done = subprocess.run(
        [sys.executable, "-c", "from grader.cli import main; main()", "render", "generic"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, rendered("generic")), done.stderr
    pages = installed / "grader" / "shipped_files" / "templates" / "report"
    assert {path.name for path in pages.iterdir()} == {
        path.name for path in (ROOT / "templates" / "report").iterdir()
    }
