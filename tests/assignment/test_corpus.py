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


def expectation(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "expect.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", cases("correct") + cases("wrong"), ids=lambda folder: folder.name)
def test_a_case_loads_as_python_unless_that_is_its_mistake(folder: Path) -> None:
    source = load_case(folder)["assignment4.py"]
    if (folder / "expect.toml").exists() and expectation(folder)["finding"] == "syntax-error":
        with pytest.raises(SyntaxError):
            compile(source, folder.name, "exec")
    else:
        compile(source, folder.name, "exec")


@pytest.mark.parametrize("folder", cases("wrong"), ids=lambda folder: folder.name)
def test_a_wrong_case_says_which_exercise_it_fails_and_why(folder: Path) -> None:
    expect = expectation(folder)
    assert expect.keys() - {"also", "limits"} == {"exercise", "finding", "why"}
    assert expect["exercise"] in EXERCISES
    assert set(expect.get("also", [])) <= EXERCISES - {expect["exercise"]}


def test_every_exercise_has_two_wrong_cases() -> None:
    asked = [expectation(folder)["exercise"] for folder in cases("wrong")]
    assert {exercise for exercise in EXERCISES if asked.count(exercise) < 2} == set()


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


# Section 7 of the design, and what has come since.
CODES = """
syntax-error import-error function-missing todo-left exception early-exit killed memory-limit time-limit
output-limit process-limit deadlock collective-mismatch rank-never-arrived send-recv-order message-mismatch
wrong-type shape-mismatch dtype-mismatch not-finite rank-missing ranks-disagree comparison-missing no-update
gradient-not-averaged gradient-averaged-twice accumulation-not-scaled gradients-not-cleared step-inside-loop
stepped-twice initial-weight-changed first-micro-batch-only last-micro-batch-only own-slice-only
same-slice-on-every-rank shard-order shard-repeated wrong-slice input-gradient-wrong gradient-scaled
not-parallel hard-coded wrong-values
"""


def test_every_code_of_a_finding_has_a_wrong_case() -> None:
    assert {expectation(folder)["finding"] for folder in cases("wrong")} == set(CODES.split())
