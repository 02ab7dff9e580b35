"""Right at the handout's numbers, wrong at all others: what only the cases of an exercise together show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.judge.findings import Finding

if TYPE_CHECKING:
    from grader.exercises.contract import Case
    from grader.judge.verdict import CaseVerdict  # imports torch, which a report does not need

CODE = "hard-coded"

#: Findings without a cause of their own: they are renamed when every hidden case failed.
_UNNAMED = frozenset({"wrong-values", "shape-mismatch", "not-finite"})
#: A factor that is right with the handout's count and wrong with another one: one such case is enough.
_FACTORS = frozenset(
    {"gradient-scaled", "gradient-averaged-twice", "gradient-not-averaged", "accumulation-not-scaled"}
)


def name_hard_coded(verdicts: Iterable[CaseVerdict]) -> tuple[CaseVerdict, ...]:
    """The verdicts in their order, with the finding ``hard-coded`` where that is the cause.

    Statuses stay as they are.
    """
    verdicts = tuple(verdicts)
    by_exercise: dict[str, list[CaseVerdict]] = {}
    for verdict in verdicts:
        by_exercise.setdefault(verdict.case.exercise, []).append(verdict)
    usual = {name: _usual(own) for name, own in by_exercise.items() if _is_hard_coded(own)}
    return tuple(
        _renamed(v) if v.case.exercise in usual and _asked(v.case) != usual[v.case.exercise] else v
        for v in verdicts
    )


def _usual(verdicts: Sequence[CaseVerdict]) -> object:
    return next(_asked(verdict.case) for verdict in verdicts if verdict.case.check == "baseline")


def _asked(case: Case) -> object:
    """All numbers of a case."""
    return case.seed, case.world_size, dict(case.sizes), dict(case.arguments)


def _is_hard_coded(verdicts: Sequence[CaseVerdict]) -> bool:
    usual = [v for v in verdicts if v.case.check == "baseline"]
    hidden = [v for v in verdicts if v.case.check == "hidden"]
    failed = [v for v in hidden if v.status == "failed"]
    if not usual or not failed or any(v.status != "passed" for v in usual):
        return False
    codes = {finding.code for verdict in failed for finding in verdict.findings}
    if not codes or not codes <= _UNNAMED | _FACTORS:
        return False
    return bool(codes & _FACTORS) or len(failed) == len(hidden)


def _renamed(verdict: CaseVerdict) -> CaseVerdict:
    codes = {finding.code for finding in verdict.findings}
    if verdict.status != "failed" or not codes or not codes <= _UNNAMED | _FACTORS:
        return verdict
    ranks = tuple(sorted({rank for finding in verdict.findings for rank in finding.ranks}))
    message = (
        "With the handout's own numbers the result is right, and with other ones it is wrong, for instance "
        f"with {_numbers(verdict.case)}. Look for a number of the handout in the code that should be a "
        "name (`global_batch_size`, `input_dim`, `output_dim`, `num_layers`, `world_size`) or an argument of "
        "the function (`seed`, the number of steps or micro-batches), and for two counts that are mixed up "
        "and happen to be equal in the handout."
    )
    return replace(verdict, findings=(Finding(CODE, message, verdict.case.check, ranks),))


def _numbers(case: Case) -> str:
    numbers = {**case.sizes, **case.arguments, "seed": case.seed, "world_size": case.world_size}
    return ", ".join(f"{name} = {number}" for name, number in numbers.items())
