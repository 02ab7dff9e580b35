"""Findings as a reader wants them: each cause once, with the place where it was seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.schema import CheckPart, FindingRow, Report

_LINES = re.compile(r"\blines? (\d{1,9}(?:(?:, and | and |, | or )\d{1,9})*)\b", re.ASCII | re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


@dataclass(frozen=True)
class Cause:
    """A finding, once for all of the checks that saw it, with the student's lines around its place."""

    finding: FindingRow
    checks: tuple[str, ...]
    ranks: tuple[int, ...]
    source: tuple[tuple[int, str], ...] = ()

    @property
    def observed(self) -> str:
        """The first sentence of the message, which says what was seen."""
        return _FIRST_SENTENCE.split(self.finding.message, maxsplit=1)[0]

    @property
    def lines(self) -> frozenset[int]:
        """The line at fault, and every other that the message names: where other ranks stand."""
        named = {int(n) for found in _LINES.findall(self.finding.message) for n in re.findall(r"\d+", found)}
        return frozenset(named if self.finding.line is None else {self.finding.line, *named})

    @property
    def meaning(self) -> str:
        """The others: what it means, and what to look at."""
        return "".join(_FIRST_SENTENCE.split(self.finding.message, maxsplit=1)[1:])


def causes(findings: Sequence[FindingRow]) -> list[Cause]:
    """Findings of several checks with one code and place are one cause, told once in the first's words."""
    groups: dict[tuple[str, str | None, int | None], list[FindingRow]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.file, finding.line), []).append(finding)
    return [
        Cause(
            group[0],
            tuple(dict.fromkeys(finding.check for finding in group)),
            tuple(sorted({rank for finding in group for rank in finding.ranks})),
            next((finding.source for finding in group if finding.source), ()),
        )
        for group in groups.values()
    ]


def line_of(finding: FindingRow) -> str:
    """``assignment4.py:88``, or as much of it as is known."""
    where = finding.file or ""
    return f"{where}:{finding.line}" if where and finding.line else where


def named_ranks(ranks: Sequence[int]) -> str:
    """``rank 0``, ``ranks 0, 1``, or nothing."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}" if ranks else ""


def place(cause: Cause) -> str:
    """Where a cause was seen: line, checks and ranks."""
    parts = (line_of(cause.finding), ", ".join(cause.checks), named_ranks(cause.ranks))
    return " · ".join(part for part in parts if part)


def told_status(report: Report) -> str:
    """The report's status in words: an error of the grader does not hide that marks are lost."""
    if report.status != "error":
        return {"passed": "full marks", "failed": "marks lost"}[report.status]
    ungraded = "some checks could not be graded; they cost nothing"
    return f"marks lost, and {ungraded}" if report.score < report.max_score else ungraded


def why_error(check: CheckPart) -> str:
    """Why a check is an error, in the grader's words."""
    return next((case.detail for case in check.cases if case.detail), "it was not carried out")
