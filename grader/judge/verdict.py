"""The verdict on one case: every rank's artifact, complete and valid, against the baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from grader.exercises.contract import Case, Exercise, Lab
from grader.job import JobResult
from grader.judge import share
from grader.judge.artifacts import RankArtifact, read_artifacts
from grader.judge.baseline import Answers, Baseline, BaselineError
from grader.judge.compare import RankVerdict, TensorVerdict, compare_rank, rank_verdict
from grader.judge.deadlock import explain_communication
from grader.judge.differences import Difference, differences
from grader.judge.evidence import Evidence
from grader.judge.failures import explain_failures
from grader.judge.findings import Finding, merge_findings
from grader.judge.record import Work
from grader.judge.script import judge_comparisons
from grader.judge.text import clean_text
from grader.judge.timeline import Timeline, timelines
from grader.judge.updates import explain_values

CaseStatus = Literal["passed", "failed", "error"]

_OUTPUT = 4000  # characters of a rank's output that are kept for a case that did not pass

_STRUCTURE = {
    "wrong-type": "Look at what the function returns.",
    "shape-mismatch": "Weights of different shapes are never the same, even where they broadcast.",
    "dtype-mismatch": "Weights, batch and gradients stay in the dtype in which they are drawn.",
    "not-finite": "Look for a division by zero, or a buffer (`torch.empty`) used before it is filled.",
}


@dataclass(frozen=True)
class CaseVerdict:
    """How one case went. ``status`` is ``passed``, ``failed``, or ``error``: the grader could not tell.

    ``detail`` says what went wrong in the grader; ``output`` is what the ranks printed, cleaned, and only
    kept when the case did not pass; ``alone`` says that no other case ran in the processes that printed it.
    ``work`` is what the ranks' recorders counted, where they did, and ``timeline`` when they communicated;
    ``differences`` are drawings of values that are not right.
    """

    case: Case
    status: CaseStatus
    ranks: tuple[RankVerdict, ...]
    findings: tuple[Finding, ...] = ()
    detail: str = ""
    output: tuple[tuple[int, str], ...] = ()
    work: tuple[tuple[int, Work], ...] = ()
    timeline: tuple[Timeline, ...] = ()
    differences: tuple[Difference, ...] = ()
    alone: bool = False


@dataclass(frozen=True)
class _Judged:
    ranks: tuple[RankVerdict, ...]
    findings: tuple[Finding, ...]


def judge_case(
    lab: Lab,
    exercise: Exercise,
    case: Case,
    case_index: int,
    result: JobResult,
    baseline: Baseline,
    tolerance: float,
) -> CaseVerdict:
    """The verdict on case number ``case_index`` of a job that has ended.

    It passes only with a complete, valid and right artifact from every rank: how the job ended proves
    nothing. ``tolerance`` is absolute plus relative, on the weights. Never raises for anything that a
    rank left; what fails in the grader gives the status ``error``.
    """
    if result.ended == "error":
        return _error(case, result, result.detail or "the job could not be run")
    try:
        answers = baseline.answers(exercise, case, tolerance)
    except BaselineError as error:
        return _error(case, result, str(error))
    artifacts = read_artifacts(result, case_index)
    try:
        communicated = timelines(result, case_index)
        judged = _judge(lab, exercise, case, answers, artifacts, baseline, tolerance)
        passed = bool(judged.ranks) and all(rank.status == "passed" for rank in judged.ranks)
        if passed:
            return replace(_weigh(exercise, case, judged, artifacts, baseline), timeline=communicated)
        returned = all(artifact.returned for artifact in artifacts)
        parted = explain_communication(case, case_index, result, values_wrong=returned)
        failures = explain_failures(case, case_index, result, artifacts, lab.file)
        drawn = () if exercise.whole_file else differences(answers.expected, artifacts, tolerance)
    except Exception as error:  # a fault of ours is no verdict on the student
        return _error(case, result, f"the judge failed: {error!r}")
    # Where the ranks' communication parted, everything else that is wrong follows from it.
    findings = (parted,) if parted else merge_findings([*failures, *judged.findings])
    return CaseVerdict(
        case,
        "failed",
        judged.ranks,
        findings,
        output=_output(result),
        timeline=communicated,
        differences=drawn,
        alone=len(result.job.cases) == 1,
    )


def _weigh(
    exercise: Exercise, case: Case, judged: _Judged, artifacts: Sequence[RankArtifact], baseline: Baseline
) -> CaseVerdict:
    """The values are right: was the work shared, where that is the question?"""
    work = _work(artifacts)
    if case.check == "own_share":
        whole = baseline.whole_flops(exercise, case)
        if findings := share.too_much_work(exercise, case, artifacts, whole):
            blamed = {rank for finding in findings for rank in finding.ranks}
            rows = [replace(row, status="failed") if row.rank in blamed else row for row in judged.ranks]
            return CaseVerdict(case, "failed", tuple(rows), tuple(findings), work=work)
    return CaseVerdict(case, "passed", judged.ranks, work=work)


def _work(artifacts: Sequence[RankArtifact]) -> tuple[tuple[int, Work], ...]:
    records = ((artifact.rank, artifact.record) for artifact in artifacts)
    return tuple((rank, record.work) for rank, record in records if record is not None and record.work)


def _judge(
    lab: Lab,
    exercise: Exercise,
    case: Case,
    answers: Answers,
    artifacts: Sequence[RankArtifact],
    baseline: Baseline,
    tolerance: float,
) -> _Judged:
    compare = baseline.compare
    if exercise.whole_file:
        ranks, findings = judge_comparisons(
            case, lab.file, answers.expected, answers.initial, artifacts, compare, tolerance
        )
        return _Judged(ranks, findings)
    compared: dict[int, tuple[TensorVerdict, ...]] = {}
    for artifact in artifacts:
        if artifact.returned and (
            artifact.rank in answers.expected or artifact.tensors or _problems(artifact)
        ):
            expected = answers.expected.get(artifact.rank, {})
            compared[artifact.rank] = compare_rank(expected, artifact, compare, tolerance)
    ranks = tuple(_row(artifact, compared) for artifact in artifacts)
    verdicts = [verdict for rank in compared.values() for verdict in rank]
    evidence = _evidence(exercise, case, answers, artifacts, compared, baseline, tolerance)
    drawn = share.drew_its_own(evidence, answers.drawn)
    left = {rank: names for rank, names in evidence.wrong.items() if rank not in drawn}
    values = _value_findings(case, replace(evidence, wrong=left))
    found = [*_structure_findings(case, verdicts), *values]
    if case.check == "own_share":
        found = share.explain(case, found, drawn)
    return _Judged(ranks, tuple(found))


def _problems(artifact: RankArtifact) -> bool:
    return artifact.record is not None and bool(artifact.record.problems)


def _row(artifact: RankArtifact, compared: dict[int, tuple[TensorVerdict, ...]]) -> RankVerdict:
    if artifact.record is None:
        return RankVerdict(artifact.rank, "missing")
    if not artifact.returned:
        return RankVerdict(artifact.rank, "failed")
    if artifact.rank in compared:
        return rank_verdict(artifact.rank, compared[artifact.rank])
    return RankVerdict(artifact.rank, "passed")  # not asked for values, and complete


def _structure_findings(case: Case, verdicts: Sequence[TensorVerdict]) -> list[Finding]:
    by_code: dict[str, list[TensorVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.code in _STRUCTURE:
            by_code[verdict.code].append(verdict)
    return [
        Finding(
            code,
            f"{'; '.join(dict.fromkeys(v.detail for v in found[:3]))}. {_STRUCTURE[code]}",
            case.check,
            tuple(sorted({v.rank for v in found})),
        )
        for code, found in by_code.items()
    ]


def _evidence(
    exercise: Exercise,
    case: Case,
    answers: Answers,
    artifacts: Sequence[RankArtifact],
    compared: dict[int, tuple[TensorVerdict, ...]],
    baseline: Baseline,
    tolerance: float,
) -> Evidence:
    sound = {
        rank: verdicts
        for rank, verdicts in compared.items()
        if all(v.code in ("", "wrong-values") for v in verdicts)
    }
    wrong = {rank: tuple(v.name for v in verdicts if v.code) for rank, verdicts in sound.items()}
    return Evidence(
        exercise=exercise,
        case=case,
        expected=answers.expected,
        initial=answers.initial,
        returned={artifact.rank: artifact.tensors for artifact in artifacts if artifact.rank in sound},
        wrong={rank: names for rank, names in wrong.items() if names},
        arguments=answers.arguments,
        tolerance=tolerance,
        mistaken=lambda mistake, rank: baseline.mistaken(exercise, case, mistake, rank),
    )


def _value_findings(case: Case, evidence: Evidence) -> list[Finding]:
    return [Finding(e.code, e.message, case.check, e.ranks) for e in explain_values(evidence)]


def _error(case: Case, result: JobResult, detail: str) -> CaseVerdict:
    ranks = tuple(RankVerdict(rank, "error") for rank in range(case.world_size))
    return CaseVerdict(
        case,
        "error",
        ranks,
        detail=clean_text(detail, 1000),
        output=_output(result),
        alone=len(result.job.cases) == 1,
    )


def _output(result: JobResult) -> tuple[tuple[int, str], ...]:
    texts = ((end.rank, clean_text(end.output, _OUTPUT).strip()) for end in result.ranks)
    return tuple((rank, text) for rank, text in texts if text)
