"""Hand-made verdicts and reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.exercises.contract import Case, Exercise, Lab
from grader.judge.compare import RankVerdict
from grader.judge.findings import Finding
from grader.judge.verdict import CaseStatus, CaseVerdict
from grader.report.build import RunFacts, build_report
from grader.report.schema import Report
from grader.rubric import EvidencePoints


def _exercise(name: str, title: str) -> Exercise:
    return Exercise(name, title, (name,), lambda *_: {}, lambda *_: {}, lambda *_: {})


LAB = Lab("tiny", (_exercise("first", "Part 1: first"), _exercise("second", "Part 2: second")), {}, 42)


@dataclass(frozen=True)
class Points:
    points: dict[str, float]


@dataclass(frozen=True)
class TinyRubric:
    tolerance: float = 1e-5
    exercises: dict[str, Points] = field(
        default_factory=lambda: {
            "first": Points({"baseline": 10.0, "hidden": 30.0}),
            "second": Points({"baseline": 20.0, "hidden": 40.0}),
        }
    )
    evidence: EvidencePoints = field(default_factory=EvidencePoints)


@dataclass(frozen=True)
class Submission:
    name: str = "ada"
    sha256: str = "0" * 64
    files: tuple[str, ...] = ("tiny.py",)
    ignored: tuple[tuple[str, str], ...] = (("run.log", "not Python"),)


FACTS = RunFacts(
    seed=99, command="grader check ada.zip --seed 99", sandbox="bwrap", launcher="fork", device="cpu",
    seconds=4.2, machine={"torch": "2.13.0"},
)  # fmt: skip


def verdict(
    exercise: str,
    check: str,
    status: CaseStatus = "passed",
    seed: int = 1,
    message: str = "It is off.",
    **more: Any,
) -> CaseVerdict:
    passed = status == "passed"
    rank = RankVerdict(0, status, passed if status != "error" else None, 1e-7 if passed else None, None)
    findings = (Finding("no-update", message, check, (0,), "tiny.py", 12),) if status == "failed" else ()
    case = Case(exercise, check, seed, 1, {"n": 3}, {"steps": 2})
    return CaseVerdict(case, status, **({"ranks": (rank,), "findings": findings} | more))


def all_passed() -> list[CaseVerdict]:
    return [
        verdict(exercise, check, seed=seed)
        for exercise in ("second", "first")
        for check, seeds in (("baseline", (42,)), ("hidden", (1, 2)))
        for seed in seeds
    ]


def instead(*changed: CaseVerdict) -> list[CaseVerdict]:
    """All passed, but for the cases of these."""
    keys = {(v.case.exercise, v.case.check, v.case.seed) for v in changed}
    return [v for v in all_passed() if (v.case.exercise, v.case.check, v.case.seed) not in keys] + list(
        changed
    )


def report_on(verdicts: list[CaseVerdict], **how: Any) -> Report:
    rubric = TinyRubric(evidence=EvidencePoints(points=how.pop("log_points", 0.0)))
    return build_report(
        how.pop("submission", Submission()), rubric, LAB, verdicts, how.pop("facts", FACTS), **how
    )
