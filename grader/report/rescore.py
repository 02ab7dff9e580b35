"""Another report from verdicts that stand: for other points, or for some exercises that were asked again."""

from __future__ import annotations

from collections.abc import Mapping

from grader.report.evidence import evidence_exercise, held_against, without_evidence
from grader.report.schema import CheckPart, ExercisePart, Report
from grader.rubric import COMPLETE_LOG, EVIDENCE


def rescored(report: Report, points: Mapping[str, Mapping[str, float]]) -> Report:
    """The report with what the checks are worth as in ``points``, by exercise and check. The checks stay, and
    what the logs are worth goes by what is kept of them."""
    exercises = tuple(_exercise(part, points[part.name]) for part in without_evidence(report.exercises))
    if worth := points.get(EVIDENCE, {}).get(COMPLETE_LOG):
        exercises += (evidence_exercise(report.evidence, worth),)
    return _with(report, exercises)


def merged(report: Report, again: Report) -> Report:
    """``again``, with the exercises that it skipped as they are in the report."""
    before = {part.name: part for part in report.exercises}
    exercises = tuple(
        before.get(part.name, part) if part.status == "skipped" else part for part in again.exercises
    )
    evidence = held_against(again.evidence, exercises)
    return _with(again.model_copy(update={"evidence": evidence}), exercises)


def _with(report: Report, exercises: tuple[ExercisePart, ...]) -> Report:
    statuses = {part.status for part in exercises} - {"skipped"}
    errors = any(check.status == "error" for part in exercises for check in part.checks)
    return report.model_copy(
        update={
            "exercises": exercises,
            "status": "error" if errors else "passed" if statuses == {"passed"} else "failed",
            "score": round(sum(part.score for part in exercises), 6),
            "max_score": round(sum(part.max_score for part in exercises), 6),
        }
    )


def _exercise(part: ExercisePart, points: Mapping[str, float]) -> ExercisePart:
    if part.status == "skipped":
        return part
    checks = tuple(_check(check, points[check.name]) for check in part.checks)
    score, most = sum(check.score for check in checks), sum(check.max_score for check in checks)
    return part.model_copy(update={"checks": checks, "score": round(score, 6), "max_score": round(most, 6)})


def _check(check: CheckPart, worth: float) -> CheckPart:
    return check.model_copy(
        update={
            "score": worth if check.status == "passed" else 0.0,
            "max_score": 0.0 if check.status == "error" else worth,
        }
    )
