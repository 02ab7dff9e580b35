"""Grades a corpus case the way the command does, for the tests that look at whole reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.check import Progress, check
from grader.course import find_course
from grader.options import Options
from grader.report.schema import ExercisePart, Report
from grader.rubric import load_rubric
from tests.corpus import CORPUS, load_case

COURSE = find_course(Path(__file__).parent)


def cases(kind: str) -> list[str]:
    """The names of the corpus cases of a kind: "correct", "wrong" or "hostile"."""
    return sorted(
        folder.name
        for folder in (CORPUS / kind).iterdir()
        if folder.is_dir() and folder.name != "__pycache__"
    )


def grade(case: str, folder: Path, **options: object) -> Report:
    """The report on the case ``kind/name``, laid out in ``folder``."""
    submission = folder / "submission"
    submission.mkdir()
    for name, content in load_case(CORPUS / case).items():
        (submission / name).write_bytes(content)
    return grade_path(submission, **options)


def grade_path(
    path: Path, limits: Mapping[str, float] | None = None, hidden: int | None = None, **options: object
) -> Report:
    """The report on a submission, at a fixed master seed; ``limits`` replace some of the rubric's, and only
    the first ``hidden`` of its hidden cases are asked."""
    chosen = Options(**{"seed": 20, **options})  # type: ignore[arg-type]
    rubric = load_rubric(COURSE.rubric_path)
    changes = {
        "limits": rubric.limits.model_copy(update=limits or {}),
        "hidden": rubric.hidden[:hidden],
    }
    narrowed = rubric.model_copy(update=changes)
    return check(path, COURSE, narrowed, chosen, Progress()).report


def exercise(report: Report, name: str) -> ExercisePart:
    """One exercise of a report."""
    return next(part for part in report.exercises if part.name == name)


def without_timelines(data: Any) -> Any:
    """JSON data of a report without the times of the ranks' operations, which no two runs share."""
    if isinstance(data, dict):
        return {key: without_timelines(value) for key, value in data.items() if key != "timeline"}
    return [without_timelines(value) for value in data] if isinstance(data, list) else data


def verdicts(report: Report) -> object:
    """All that must be equal when the same is graded in another way: statuses, scores, findings."""
    return [
        (
            part.name,
            part.status,
            part.score,
            [(made.name, made.status, [case.status for case in made.cases]) for made in part.checks],
            sorted(
                {(found.code, found.check, found.ranks, found.file, found.line) for found in part.findings}
            ),
        )
        for part in report.exercises
    ]
