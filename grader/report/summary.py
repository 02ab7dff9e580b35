"""What a class did, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

_BAR = 30
_COMMONEST = 8


class InShort(Protocol):
    """One student's result: a `grader.batch.Finished`."""

    @property
    def status(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def max_score(self) -> float: ...
    @property
    def exercises(self) -> Mapping[str, str]: ...
    @property
    def codes(self) -> frozenset[tuple[str, str]]: ...


def summary(finished: Sequence[InShort], not_submitted: int = 0) -> str:
    """Counts, the distribution of scores, the pass rate of each exercise and the commonest findings."""
    counts = Counter(one.status for one in finished)
    words = {
        "passed": "full marks",
        "failed": "marks lost",
        "refused": "nothing to grade",
        "error": "grader failed",
    }
    told = [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
    if not_submitted:
        told.append(f"{not_submitted} not submitted")
    lines = [f"{len(finished)} hand-ins: {', '.join(told)}"]
    graded = [one for one in finished if one.status in ("passed", "failed")]
    if graded:
        lines += ["", "Scores", *_distribution(graded), "", "Exercises passed", *_pass_rates(graded)]
        lines += _commonest(graded)
    return "\n".join(lines) + "\n"


def _distribution(graded: Sequence[InShort]) -> list[str]:
    tenths = Counter(min(10, int(10 * one.score / one.max_score)) if one.max_score else 0 for one in graded)
    most = max(tenths.values())
    names = [*(f"{10 * tenth:3d} - {10 * tenth + 9} %" for tenth in range(10)), "      100 %"]
    return [
        f"  {name:>11}  {tenths[tenth]:4d}  {'#' * round(_BAR * tenths[tenth] / most)}".rstrip()
        for tenth, name in enumerate(names)
    ]


def _pass_rates(graded: Sequence[InShort]) -> list[str]:
    names = dict.fromkeys(name for one in graded for name in one.exercises)
    lines = []
    for name in names:
        asked = [one.exercises[name] for one in graded if one.exercises.get(name, "skipped") != "skipped"]
        passed = sum(status == "passed" for status in asked)
        lines.append(f"  {name:<20} {passed:4d} of {len(asked)}  ({passed / max(1, len(asked)):.0%})")
    return lines


def _commonest(graded: Sequence[InShort]) -> list[str]:
    counts = Counter(found for one in graded for found in one.codes)
    if not counts:
        return []
    commonest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_COMMONEST]
    return ["", "Commonest findings", *(f"  {n:4d} x  {code} in {name}" for (name, code), n in commonest)]
