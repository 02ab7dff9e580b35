"""One mistake, one finding: a share of the data only proves something about a step that is right with all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.judge.findings import Finding
    from grader.judge.verdict import CaseVerdict  # imports torch, which a report does not need

_NOT_PARALLEL = "not-parallel"


def name_once(verdicts: Iterable[CaseVerdict]) -> tuple[CaseVerdict, ...]:
    """The verdicts in their order; where an exercise fails its baseline, ``own_share`` fails for that.

    A weight that is wrong with all of the data at hand (its shards were never gathered, say) may well hold
    what was withheld, though the work was shared. Statuses stay as they are.
    """
    verdicts = tuple(verdicts)
    causes: dict[str, tuple[Finding, ...]] = {}
    for verdict in verdicts:
        if verdict.case.check == "baseline" and verdict.status == "failed" and verdict.findings:
            causes.setdefault(verdict.case.exercise, verdict.findings)
    return tuple(_explained(verdict, causes.get(verdict.case.exercise, ())) for verdict in verdicts)


def _explained(verdict: CaseVerdict, causes: tuple[Finding, ...]) -> CaseVerdict:
    codes = {finding.code for finding in verdict.findings}
    if verdict.case.check != "own_share" or codes != {_NOT_PARALLEL} or not causes:
        return verdict
    return replace(verdict, findings=tuple(replace(cause, check=verdict.case.check) for cause in causes))
