"""The corpus is well formed: changes apply, files are Python, wrong cases say what they expect."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.corpus import CORPUS, load_case

EXERCISES = {
    "single_step",
    "grad_accumulation",
    "data_parallel",
    "column_parallel",
    "row_parallel",
    "pipeline",
    "script",
}


def cases(kind: str) -> list[Path]:
    return sorted(path for path in (CORPUS / kind).iterdir() if path.is_dir() and path.name != "__pycache__")


@pytest.mark.parametrize("folder", cases("correct") + cases("wrong"), ids=lambda folder: folder.name)
def test_a_case_loads_as_python(folder: Path) -> None:
    compile(load_case(folder)["assignment4.py"], folder.name, "exec")


@pytest.mark.parametrize("folder", cases("wrong"), ids=lambda folder: folder.name)
def test_a_wrong_case_says_which_exercise_it_fails_and_why(folder: Path) -> None:
    expect = tomllib.loads((folder / "expect.toml").read_text(encoding="utf-8"))
    assert expect.keys() - {"also"} == {"exercise", "finding", "why"}
    assert expect["exercise"] in EXERCISES
    assert folder.name.startswith(expect["exercise"])
    assert expect.get("also", ["script"]) == ["script"]


def test_every_exercise_has_two_wrong_cases() -> None:
    for exercise in EXERCISES:
        assert sum(folder.name.startswith(exercise) for folder in cases("wrong")) >= 2, exercise


def test_the_line_ends_of_a_change_reach_every_line() -> None:
    source = load_case(CORPUS / "correct" / "crlf")["assignment4.py"]
    assert source.count(b"\n") == source.count(b"\r\n") > 0


@pytest.mark.parametrize("old", ["no such text", "loss.backward()"])
def test_a_change_whose_text_does_not_occur_exactly_once_is_an_error(tmp_path: Path, old: str) -> None:
    (tmp_path / "change.toml").write_text(
        f'base = "correct/matmul"\n[[replace]]\nold = "{old}"\nnew = "x"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"replace 1 occurs \d+ times"):
        load_case(tmp_path)
