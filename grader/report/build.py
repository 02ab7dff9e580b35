"""From the verdicts of all cases to a report: who gets which points, and why not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from grader.exercises.contract import Exercise, Lab
from grader.judge.findings import Finding, merge_findings
from grader.judge.hard_coded import name_hard_coded
from grader.judge.same_cause import name_once
from grader.judge.text import clean_line, clean_text
from grader.report.case_rows import case_rows
from grader.report.evidence import evidence_exercise, evidence_part, held_against
from grader.report.quoted import Sources, place, quoted
from grader.report.schema import (
    CaseRow,
    CaseStatus,
    CheckPart,
    ExercisePart,
    ExerciseStatus,
    FindingRow,
    IgnoredFile,
    OutputRow,
    Report,
    SubmissionPart,
)

if TYPE_CHECKING:
    from grader.evidence import Evidence
    from grader.judge.verdict import CaseVerdict  # imports torch, which a report does not need
    from grader.rubric import Rubric

_OUTPUT = 2000  # characters of one rank's output in a report
_MESSAGE = 2000


class SubmissionInfo(Protocol):
    """What intake says about a submission."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def files(self) -> Sequence[str]: ...
    @property
    def ignored(self) -> Sequence[tuple[str, str]]: ...


@dataclass(frozen=True)
class RunFacts:
    """How the submission was graded: what is needed to contest a grade or to repeat it."""

    seed: int
    command: str
    sandbox: str
    launcher: str
    device: str
    seconds: float
    machine: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    notes: Sequence[str] = ()


def build_report(
    submission: SubmissionInfo,
    rubric: Rubric,
    lab: Lab,
    verdicts: Sequence[CaseVerdict],
    facts: RunFacts,
    only: Collection[str] | None = None,
    sources: Sources = None,
    evidence: Evidence | None = None,
) -> Report:
    """The report on one submission, its exercises in the lab's order.

    ``only`` names the exercises that were asked (None: all); the others are ``skipped`` and count nowhere.
    ``sources`` has the lines of the submission's files: findings quote them, and name no other places.
    ``evidence`` is what the logs say, of which the rubric may make a line more. A check of the rubric without
    a verdict was not carried out, and is an error. Raises ValueError for a verdict that the rubric does not
    know.
    """
    _refuse_unknown(rubric, lab, verdicts)
    verdicts = name_once(name_hard_coded(verdicts))
    exercises = tuple(_exercise(exercise, rubric, verdicts, only, sources) for exercise in lab.exercises)
    logs = held_against(evidence_part(evidence) if evidence else None, exercises)
    if rubric.evidence.points:
        exercises += (evidence_exercise(logs, rubric.evidence.points, asked=only is None),)
    statuses = {exercise.status for exercise in exercises} - {"skipped"}
    errors = any(check.status == "error" for exercise in exercises for check in exercise.checks)
    return Report(
        submission=_submission(submission),
        status="error" if errors else "passed" if statuses == {"passed"} else "failed",
        score=_total(exercise.score for exercise in exercises),
        max_score=_total(exercise.max_score for exercise in exercises),
        exercises=exercises,
        machine=dict(facts.machine),
        sandbox=facts.sandbox,
        launcher=facts.launcher,
        device=facts.device,
        seed=facts.seed,
        command=clean_line(facts.command, 2000),
        notes=tuple(clean_text(note, _MESSAGE) for note in facts.notes),
        tolerance=rubric.tolerance,
        evidence=logs,
        seconds=round(facts.seconds, 3),
    )


def _refuse_unknown(rubric: Rubric, lab: Lab, verdicts: Sequence[CaseVerdict]) -> None:
    known = {(e.name, check) for e in lab.exercises for check in rubric.exercises[e.name].points}
    unknown = sorted({(v.case.exercise, v.case.check) for v in verdicts} - known)
    if unknown:
        raise ValueError(f"verdicts on checks that are not in the rubric: {unknown}")


def _submission(submission: SubmissionInfo) -> SubmissionPart:
    return SubmissionPart(
        name=clean_line(submission.name),
        sha256=submission.sha256,
        files=tuple(clean_line(name, 500) for name in submission.files),
        ignored=tuple(
            IgnoredFile(name=clean_line(name, 500), reason=clean_line(reason, 500))
            for name, reason in submission.ignored
        ),
    )


def _exercise(
    exercise: Exercise,
    rubric: Rubric,
    verdicts: Sequence[CaseVerdict],
    only: Collection[str] | None,
    sources: Sources,
) -> ExercisePart:
    if only is not None and exercise.name not in only:
        return ExercisePart(name=exercise.name, title=exercise.title, status="skipped", score=0, max_score=0)
    own = [verdict for verdict in verdicts if verdict.case.exercise == exercise.name]
    points = rubric.exercises[exercise.name].points
    rows = case_rows(exercise, own, sources)
    checks = tuple(_check(name, worth, rows[name]) for name, worth in points.items())
    findings = merge_findings(finding for verdict in own for finding in verdict.findings)
    status = _exercise_status(checks, findings)
    return ExercisePart(
        name=exercise.name,
        title=exercise.title,
        status=status,
        score=_total(check.score for check in checks),
        max_score=_total(check.max_score for check in checks),
        checks=checks,
        findings=tuple(_finding(finding, sources) for finding in findings),
        output=() if status == "passed" else _output(own),
    )


def _check(name: str, worth: float, cases: Sequence[CaseRow]) -> CheckPart:
    """All points when all cases passed, none when one failed; an error leaves score and maximum alone.

    A case that failed decides, whatever became of the others: the check could not have passed.
    """
    statuses = {case.status for case in cases}
    status: CaseStatus = "failed" if "failed" in statuses else "passed" if statuses == {"passed"} else "error"
    return CheckPart(
        name=name,
        status=status,
        score=worth if status == "passed" else 0,
        max_score=0 if status == "error" else worth,
        cases=tuple(cases),
    )


def _exercise_status(checks: Sequence[CheckPart], findings: Sequence[Finding]) -> ExerciseStatus:
    statuses = {check.status for check in checks}
    if "failed" in statuses:
        absent = "passed" not in statuses and {finding.code for finding in findings} == {"function-missing"}
        return "missing" if absent else "failed"
    return "error" if "error" in statuses else "passed"


def _finding(finding: Finding, sources: Sources) -> FindingRow:
    file, line = place(sources, finding.file, finding.line)
    message = clean_text(finding.message, _MESSAGE)
    return FindingRow(
        code=finding.code,
        message=message,
        check=finding.check,
        ranks=finding.ranks,
        file=None if file is None else clean_line(file, 500),
        line=line,
        source=quoted(sources, file, line, message),
    )


def _output(verdicts: Sequence[CaseVerdict]) -> tuple[OutputRow, ...]:
    """What the ranks printed in the first case that did not pass and printed anything."""
    for verdict in verdicts:
        if verdict.status != "passed" and verdict.output:
            check = verdict.case.check
            cases = [other for other in verdicts if other.case.check == check]
            place = next(number for number, other in enumerate(cases) if other is verdict)
            return tuple(
                OutputRow(
                    rank=rank,
                    text=clean_text(text, _OUTPUT),
                    check=check,
                    case=place if verdict.alone else None,
                )
                for rank, text in verdict.output
            )
    return ()


def _total(points: Iterable[float]) -> float:
    return round(sum(points), 6)
