"""``results.json`` of a Gradescope autograder: a test for each check, always in the student's words.

Students read it, so it is made from what they may see (`grader.report.audience`), and every test is visible:
if any were hidden, students could not see their total score.
"""

from __future__ import annotations

import json

from grader.report.audience import for_audience
from grader.report.plain import check_text, inert
from grader.report.schema import CheckPart, ExercisePart, Report

_FAULT = (
    "Some checks could not be carried out. That is a fault of the grader or its machine, and no points are "
    "lost for it: ask the staff to run the autograder again."
)


def gradescope(report: Report) -> str:
    """The report as the JSON text of ``results.json``. ASCII, lines end with ``\\n``, numbers are finite."""
    report = for_audience(report, "student")
    results = {
        "score": report.score,
        "execution_time": report.seconds,
        "output": _output(report),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            _test(f"{i}.{j}", exercise, check)
            for i, exercise in enumerate(report.exercises, 1)
            for j, check in enumerate(exercise.checks, 1)
        ],
    }
    # Its text may come to a log of GitHub Actions as well, where this begins a command.
    return json.dumps(results, indent=2, allow_nan=False).replace("##[", "\\u0023#[") + "\n"


def _output(report: Report) -> str:
    if any(check.status == "error" for exercise in report.exercises for check in exercise.checks):
        parts = [f"{report.score:g} of the {report.max_score:g} points that could be graded.", _FAULT]
    else:
        parts = [f"{report.score:g} of {report.max_score:g} points."]
    return inert("\n\n".join([*parts, *report.notes]))


def _test(number: str, exercise: ExercisePart, check: CheckPart) -> dict[str, object]:
    """The status is told: without one, 0 of 0 points would be taken for passed."""
    return {
        "name": inert(f"{exercise.title}: {check.name}"),
        "number": number,
        "status": "passed" if check.status == "passed" else "failed",
        "score": check.score,
        "max_score": check.max_score,
        "output": check_text(exercise, check),
        "visibility": "visible",
    }
