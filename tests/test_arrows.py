"""The import checker is no decoration: an import against the arrows fails it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package's imports as they are, to break one of them."""
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache", "--config", "pyproject.toml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_package_itself_holds_the_arrows(copy):
    result = lint(copy)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("run", "grader.judge"),
        ("run", "grader.report"),
        ("run", "grader.rubric"),
        ("run", "grader.intake"),
        ("run", "reference.assignment4"),
        ("exercises", "grader.judge"),
        ("exercises", "grader.report"),
        ("exercises", "reference"),
        ("judge", "grader.run"),
        ("judge", "grader.report"),
        ("judge", "grader.evidence"),
    ],
)
def test_an_import_against_the_arrows_fails_the_lint(copy, importer, imported):
    (copy / "grader" / importer / "violation.py").write_text(f"def late():\n    import {imported}\n")
    result = lint(copy)
    assert result.returncode == 1
    assert f"grader.{importer}.violation" in result.stdout and "BROKEN" in result.stdout
