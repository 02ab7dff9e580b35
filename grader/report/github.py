"""The result of a runner of GitHub Classroom, always in the student's words, and a log that gives no orders.

The reporter of Classroom reads each runner's result from a step output, as base64 of this JSON.
"""

from __future__ import annotations

import base64
import json

from grader.judge.text import shorten
from grader.report.audience import for_audience
from grader.report.plain import check_text, inert
from grader.report.schema import CheckPart, ExercisePart, Report

_STATUS = {"passed": "pass", "failed": "fail", "error": "error"}
_LIMITS = (2000, 1000, 500, 200, 60)  # characters of a message
# The reporter gets it as an environment variable, and Linux has room for 128 KiB in one.
_MOST_BASE64 = 120_000


def github(report: Report) -> str:
    """The report as the JSON text of a runner's result. ASCII; ``tests`` is always there, for the reporter
    reads its length. Messages are cut where the whole would not fit into a step's output."""
    report = for_audience(report, "student")
    for limit in _LIMITS:
        text = _json(report, limit)
        if len(_base64(text)) <= _MOST_BASE64:
            break
    return text


def result_line(report: Report) -> str:
    """The line for the file ``$GITHUB_OUTPUT`` that sets the step's output ``result``."""
    return f"result={_base64(github(report))}\n"


def log_guard(token: str) -> tuple[str, str]:
    """The lines to print before and after a text in a log, so that Actions obeys nothing that stands in it.

    ``token`` has to be one that nobody can guess, 16 ASCII letters and digits or more: whoever knows it can
    end the guard. Raises ValueError for another.
    """
    if not (token.isascii() and token.isalnum() and len(token) >= 16):
        raise ValueError("the token must be 16 letters and digits or more")
    return f"::stop-commands::{token}", f"::{token}::"


def guarded(log: str, token: str) -> str:
    """``log`` between the lines of `log_guard`. Raises ValueError for a token that is in it, too."""
    if token in log:
        raise ValueError("the token is in the log")
    begin, end = log_guard(token)
    return f"{begin}\n{log.rstrip(chr(10))}\n{end}\n"


def _json(report: Report, limit: int) -> str:
    tests = [_test(exercise, check, limit) for exercise in report.exercises for check in exercise.checks]
    result = {
        "version": 1,
        "status": _STATUS[report.status],
        "max_score": report.max_score,
        "tests": tests,
    }
    # In a log, "##[" begins a command wherever it stands in a line.
    return json.dumps(result, indent=1, allow_nan=False).replace("##[", "\\u0023#[") + "\n"


def _test(exercise: ExercisePart, check: CheckPart, limit: int) -> dict[str, object]:
    own = [finding for finding in exercise.findings if finding.check == check.name]
    placed = next((finding for finding in own if finding.file and finding.line), None)
    return {
        "name": inert(f"{exercise.title}: {check.name}", 200),
        "status": _STATUS[check.status],
        "score": check.score,
        "message": shorten(check_text(exercise, check), limit),
        "test_code": "",
        "filename": inert(placed.file or "", 200) if placed else "",
        "line_no": (placed.line or 0) if placed else 0,
        "duration": 0,
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
