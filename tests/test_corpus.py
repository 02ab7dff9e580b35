"""The promise of the grader on submissions whose grade is known: right ones keep everything, a wrong one
loses marks in its own exercise, with the mistake named, and in no other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import CORPUS
from tests.grading import cases, exercise, grade, verdicts

_START_IN_THEIR_OWN_WAY = ("handout_form", "main_guard", "module_globals", "one_f_one_b", "single_file")

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


def _expected(name: str) -> dict[str, Any]:
    return tomllib.loads((CORPUS / "wrong" / name / "expect.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", cases("correct"))
def test_a_right_submission_keeps_full_marks(name: str, tmp_path: Path) -> None:
    report = grade(f"correct/{name}", tmp_path)
    assert [found for part in report.exercises for found in part.findings] == []
    assert (report.status, report.score, report.max_score) == ("passed", 100, 100)


@pytest.mark.parametrize("name", cases("wrong"))
def test_a_wrong_submission_loses_marks_in_its_own_exercise_only(name: str, tmp_path: Path) -> None:
    expected = _expected(name)
    report = grade(f"wrong/{name}", tmp_path, limits=expected.get("limits"))
    at_fault = {part.name for part in report.exercises if part.score < part.max_score}
    assert at_fault == {expected["exercise"], *expected.get("also", [])}
    codes = {found.code for found in exercise(report, expected["exercise"]).findings}
    assert codes == {expected["finding"]}


def _launches() -> Iterator[object]:
    """Every case, asked what it is about. The real command takes both cores for half a minute each, so only
    the right forms that start in their own way and the first wrong one of each exercise are among the usual
    tests; ``make launchers`` runs all."""
    for name in cases("correct"):
        marks = [] if name in _START_IN_THEIR_OWN_WAY else [pytest.mark.exhaustive]
        yield pytest.param(f"correct/{name}", "script", None, marks=marks)
    seen: set[str] = set()
    for name in cases("wrong"):
        expected = _expected(name)
        marks = [pytest.mark.exhaustive] if expected["exercise"] in seen else []
        seen.add(expected["exercise"])
        yield pytest.param(f"wrong/{name}", expected["exercise"], expected.get("limits"), marks=marks)


@pytest.mark.parametrize(("case", "asked", "limits"), list(_launches()))
def test_torchrun_gives_the_same_verdicts_as_forked_ranks(
    case: str, asked: str, limits: dict[str, float] | None, tmp_path: Path
) -> None:
    reports = []
    for launcher in ("fork", "torchrun"):
        folder = tmp_path / launcher
        folder.mkdir()
        reports.append(grade(case, folder, only=(asked,), launcher=launcher, limits=limits))
    forked, launched = reports
    assert verdicts(forked) == verdicts(launched)
    assert launched.launcher == "torchrun"
