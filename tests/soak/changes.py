"""Takes reports apart into single verdicts, and says which of them differ between rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

#: A score, a status, or the findings of an exercise.
Verdict = object


def flat(submission: str, graded: Any) -> dict[str, Verdict]:
    """The parts of `tests.grading.verdicts`, each by its place: ``wrong/x · pipeline · hidden · case 2``."""
    found: dict[str, Verdict] = {}
    for exercise, status, score, checks, findings in graded:
        place = f"{submission} · {exercise}"
        found[place] = (status, score)
        found[f"{place} · findings"] = findings
        for check, check_status, case_statuses in checks:
            found[f"{place} · {check}"] = check_status
            for index, case_status in enumerate(case_statuses):
                found[f"{place} · {check} · case {index}"] = case_status
    return found


def changed(rounds: Sequence[Mapping[str, Verdict]]) -> list[str]:
    """The places where not all rounds agree, in order."""
    places = dict.fromkeys(place for one in rounds for place in one)
    return [place for place in places if len({repr(one.get(place)) for one in rounds}) > 1]


def described(place: str, rounds: Sequence[Mapping[str, Verdict]]) -> str:
    """How often each verdict was given."""
    counts = Counter(repr(one.get(place)) for one in rounds)
    return "\n".join([place, *(f"  {count:>3} x  {verdict}" for verdict, count in counts.most_common())])
