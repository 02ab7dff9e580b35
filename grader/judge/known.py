"""Wrong values that are those of a well-known mistake."""

from __future__ import annotations

from grader.exercises.contract import Mistake
from grader.judge.evidence import Evidence, Explanation
from grader.judge.near import close

#: How many tolerances a mistake must be away from the right answer, or it could not be told from it.
LEAST_DISTANCE = 10.0


def known_mistake(evidence: Evidence) -> Explanation | None:
    """The exercise's known mistake that explains most of the wrong ranks; of several, the first.

    A rank may show two of them: where everybody works on the slice of rank 0, rank 0 itself looks as if
    it had worked on its own.
    """
    best: Explanation | None = None
    for mistake in evidence.exercise.mistakes:
        ranks = tuple(rank for rank in evidence.wrong if _made(evidence, mistake, rank))
        if ranks and (best is None or len(ranks) > len(best.ranks)):
            best = Explanation(mistake.code, mistake.message, ranks)
        if best is not None and len(best.ranks) == len(evidence.wrong):
            break
    return best


def _made(evidence: Evidence, mistake: Mistake, rank: int) -> bool:
    values, returned, expected = (
        evidence.mistaken(mistake, rank),
        evidence.returned[rank],
        evidence.expected[rank],
    )
    if values.keys() != returned.keys() or values.keys() != expected.keys():
        return False
    if all(close(values[name], expected[name], LEAST_DISTANCE * evidence.tolerance) for name in values):
        return False
    return all(close(returned[name], values[name], evidence.tolerance) for name in values)
