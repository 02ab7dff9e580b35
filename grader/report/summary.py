"""What a class did, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from grader.report.tallies import InShort, commonest, graded, pass_rates, tenths

_BAR = 30
_COMMONEST = 8


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
    if those := graded(finished):
        lines += ["", "Scores", *_distribution(those), "", "Exercises passed", *_pass_rates(those)]
        lines += _commonest(those)
    return "\n".join(lines) + "\n"


def _distribution(those: Sequence[InShort]) -> list[str]:
    counts = tenths(those)
    names = [*(f"{10 * tenth:3d} - {10 * tenth + 9} %" for tenth in range(10)), "      100 %"]
    return [
        f"  {name:>11}  {count:4d}  {'#' * round(_BAR * count / max(counts))}".rstrip()
        for name, count in zip(names, counts, strict=True)
    ]


def _pass_rates(those: Sequence[InShort]) -> list[str]:
    return [
        f"  {rate.exercise:<20} {rate.passed:4d} of {rate.asked}  ({rate.share:.0%})"
        for rate in pass_rates(those)
    ]


def _commonest(those: Sequence[InShort]) -> list[str]:
    found = commonest(those, _COMMONEST)
    lines = [f"  {number:4d} x  {code} in {name}" for number, name, code in found]
    return ["", "Commonest findings", *lines] if lines else []
