"""What a class did, counted: scores, exercises passed, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.report.schema import Report


class InShort(Protocol):
    """One student's result: a `grader.batch.Finished`, or a row of the gradebook."""

    @property
    def status(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def max_score(self) -> float: ...
    @property
    def exercises(self) -> Mapping[str, str]: ...
    @property
    def codes(self) -> frozenset[tuple[str, str]]: ...


@dataclass(frozen=True)
class PassRate:
    """How many ``passed`` an exercise of those who were ``asked`` it."""

    exercise: str
    passed: int
    asked: int

    @property
    def share(self) -> float:
        return self.passed / max(1, self.asked)


def codes_of(report: Report) -> frozenset[tuple[str, str]]:
    """The findings of a report, as exercise and code."""
    return frozenset((part.name, found.code) for part in report.exercises for found in part.findings)


def graded(results: Sequence[InShort]) -> list[InShort]:
    """Those with a score that counts."""
    return [one for one in results if one.status in ("passed", "failed")]


def tenths(results: Sequence[InShort]) -> list[int]:
    """How many have a score of 0 to 9 %, 10 to 19 % and so on; the eleventh number is that of full marks."""
    counts = Counter(
        int(min(10.0, 10 * (one.score or 0) / one.max_score)) if one.max_score else 0 for one in results
    )
    return [counts[tenth] for tenth in range(11)]


def pass_rates(results: Sequence[InShort]) -> list[PassRate]:
    """Of each exercise, in the order of the lab."""
    rates = []
    for name in dict.fromkeys(name for one in results for name in one.exercises):
        asked = [one.exercises[name] for one in results if one.exercises.get(name, "skipped") != "skipped"]
        rates.append(PassRate(name, sum(status == "passed" for status in asked), len(asked)))
    return rates


def commonest(results: Sequence[InShort], most: int) -> list[tuple[int, str, str]]:
    """Findings as number of students, exercise and code, the commonest first."""
    counts = Counter(found for one in results for found in one.codes)
    found = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [(number, name, code) for (name, code), number in found]
