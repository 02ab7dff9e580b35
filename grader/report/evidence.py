"""The part of a report that is about the logs handed in, and what a rubric may give for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.evidence.words import part_of
from grader.judge.text import clean_line
from grader.report.schema import CheckPart, ClaimRow, EvidencePart, ExercisePart, FindingRow
from grader.rubric import COMPLETE_LOG, EVIDENCE

if TYPE_CHECKING:
    from grader.evidence import Evidence

_TITLE = "The log of a run"


def evidence_part(evidence: Evidence) -> EvidencePart:
    """What the logs say, for a report."""
    return EvidencePart(
        files=tuple(clean_line(name) for name in evidence.files),
        facts=tuple(clean_line(fact, 400) for fact in evidence.facts),
        world_size=evidence.world_size,
        claims=tuple(
            ClaimRow(
                part=clean_line(claim.part, 60),
                ranks_matching=claim.matching,
                ranks_not_matching=claim.not_matching,
                expected=claim.expected,
            )
            for claim in evidence.claims
        ),
        complete=evidence.complete,
        consistent=evidence.consistent,
    )


def held_against(evidence: EvidencePart | None, exercises: Sequence[ExercisePart]) -> EvidencePart | None:
    """The part, with a sentence for each exercise of which the log and the grader say different things. May
    be done again, with other exercises."""
    if evidence is None:
        return None
    new = [fact for fact in _disagreements(evidence, exercises) if fact not in evidence.facts]
    if not new:
        return evidence
    return evidence.model_copy(update={"facts": (*new, *evidence.facts), "consistent": False})


def _disagreements(evidence: EvidencePart, exercises: Sequence[ExercisePart]) -> Iterator[str]:
    """On the handout's own case, which is what a log is of, and only where it had as many ranks.

    A log compares with the student's own baseline: where that is not known to be right, nothing follows.
    """
    statuses = {part.name: _on_the_handouts_case(part, evidence.world_size) for part in exercises}
    own_baselines = {claim.part for claim in evidence.claims if not claim.expected}
    if any(statuses.get(name) != "passed" for name in own_baselines):
        return
    titles = {exercise.name: part_of(exercise.title) for exercise in exercises}
    for claim in evidence.claims:
        if claim.part in own_baselines:
            continue
        if statuses.get(claim.part) == "failed" and not claim.ranks_not_matching:
            yield f"The log says that {titles[claim.part]} matches; the code handed in does not."
        if statuses.get(claim.part) == "passed" and claim.ranks_not_matching:
            part = titles[claim.part]
            yield (
                f"The log says that {part} does not match; the code handed in does, so it may be the log of "
                "another version."
            )


def _on_the_handouts_case(exercise: ExercisePart, world_size: int | None) -> str | None:
    """The status of its check ``baseline``, where that was asked on so many ranks."""
    for check in exercise.checks:
        if check.name == "baseline" and all(case.world_size == world_size for case in check.cases):
            return check.status
    return None


def evidence_exercise(evidence: EvidencePart | None, worth: float, asked: bool = True) -> ExercisePart:
    """What a complete log is worth, whatever it says of right and wrong, as one more line of the report."""
    if not asked:
        return ExercisePart(name=EVIDENCE, title=_TITLE, status="skipped", score=0, max_score=0)
    passed = evidence is not None and evidence.complete is True
    check = CheckPart(
        name=COMPLETE_LOG,
        status="passed" if passed else "failed",
        score=worth if passed else 0,
        max_score=worth,
        cases=(),
    )
    return ExercisePart(
        name=EVIDENCE,
        title=_TITLE,
        status="passed" if passed else "failed" if evidence else "missing",
        score=check.score,
        max_score=worth,
        checks=(check,),
        findings=() if passed else (_why_not(evidence),),
    )


def _why_not(evidence: EvidencePart | None) -> FindingRow:
    if evidence is None:
        message = "No log was handed in: the points are for the `.log` and `.err` of one whole run."
    else:
        message = " ".join(["The log is not that of one whole run.", *evidence.facts])
    return FindingRow(
        code="log-incomplete", message=message, check=COMPLETE_LOG, ranks=(), file=None, line=None
    )


def without_evidence(exercises: Iterable[ExercisePart]) -> tuple[ExercisePart, ...]:
    """The exercises that are the lab's."""
    return tuple(part for part in exercises if part.name != EVIDENCE)
