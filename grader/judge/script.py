"""The whole file, run as ``torchrun`` runs it: do the comparisons that its driver makes hold?

What the file prints decides nothing. Both operands of every ``compare_tensors`` call were left behind, and
each is compared here with the trusted weights: one comparison on rank 0 must set the initial weight against
the updated one; every other one, on every rank, must have the same updated weight on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.exercises.contract import Case
from grader.judge.artifacts import RankArtifact, Tensors
from grader.judge.compare import CompareFunction, RankVerdict, finite, structure_problem
from grader.judge.factors import scale_factor
from grader.judge.findings import Finding
from grader.judge.near import close
from grader.judge.text import clean_line

#: The trusted tensor before the step; all others that an exercise expects are updated ones.
INITIAL = "initial_weight"
UPDATED = "updated_weight"


@dataclass(frozen=True)
class Trust:
    """What an operand is held against: the trusted tensors by name, those that have one also before the
    step, the staff's comparison, and the tolerance."""

    expected: Tensors
    initial: Tensors
    compare: CompareFunction
    tolerance: float


@dataclass(frozen=True)
class Operand:
    """One side of a comparison. ``matches`` are the trusted tensors that it equals; ``closest`` the one it
    is nearest to among the updated ones of its shape, with the differences; ``problem`` why there is none."""

    value: torch.Tensor | None
    matches: frozenset[str] = frozenset()
    closest: str = ""
    max_diff: float | None = None
    mean_diff: float | None = None
    code: str = "wrong-values"
    problem: str = ""


@dataclass(frozen=True)
class Call:
    """One ``compare_tensors`` call of one rank. ``kind``: ``moved``, ``agrees``, ``wrong``, or ``itself``
    where both operands are one tensor, which shows nothing."""

    rank: int
    prefix: str
    line: int | None
    first: Operand
    second: Operand
    kind: str


def judge_comparisons(
    case: Case,
    file: str,
    expected: Mapping[int, Tensors],
    initial: Mapping[int, Tensors],
    artifacts: Sequence[RankArtifact],
    compare: CompareFunction,
    tolerance: float,
) -> tuple[tuple[RankVerdict, ...], tuple[Finding, ...]]:
    """A row for every rank, and what is wrong with the comparisons of those that came to their end."""
    rows: list[RankVerdict] = []
    findings: list[Finding] = []
    for artifact in artifacts:
        if artifact.record is None or not artifact.returned:
            rows.append(RankVerdict(artifact.rank, "missing" if artifact.record is None else "failed"))
            continue
        trust = Trust(expected[artifact.rank], initial[artifact.rank], compare, tolerance)
        calls = _calls(artifact, trust)
        found = [
            *(_explain(call, case, file, trust) for call in calls if call.kind in ("wrong", "itself")),
            *_absent(artifact.rank, calls, case, file),
        ]
        rows.append(_row(artifact.rank, calls, bool(found)))
        findings.extend(found)
    return tuple(rows), tuple(findings)


def _calls(artifact: RankArtifact, trust: Trust) -> list[Call]:
    record = artifact.record
    calls = []
    for k, compared in enumerate((record.comparisons if record else None) or ()):
        first, second = (_operand(artifact, f"comparison.{k}.{side}", trust) for side in ("first", "second"))
        prefix = clean_line(compared.prefix, 60)
        kind = "itself" if compared.itself else _kind(first, second)
        calls.append(Call(artifact.rank, prefix, compared.line or None, first, second, kind))
    return calls


def _kind(first: Operand, second: Operand) -> str:
    sides = (first.matches, second.matches)
    if any(INITIAL in one and UPDATED in other for one, other in (sides, sides[::-1])):
        return "moved"
    return "agrees" if (first.matches & second.matches) - {INITIAL} else "wrong"


def _operand(artifact: RankArtifact, name: str, trust: Trust) -> Operand:
    value = artifact.tensors.get(name)
    if value is None:
        problems = artifact.record.problems if artifact.record else {}
        why = clean_line(problems.get(name, "it was not left behind"))
        return Operand(None, code="wrong-type", problem=f"cannot be used: {why}")
    matches: set[str] = set()
    closest: tuple[float, str, float | None] | None = None
    code, problem = "shape-mismatch", f"has shape {list(value.shape)}, which no weight of the baseline has"
    for known, tensor in trust.expected.items():
        if tensor.shape != value.shape:
            continue
        wrong, _ = structure_problem(name, value, tensor)
        if wrong:
            code, problem = wrong, _broken(wrong, value, tensor)
            continue
        found = trust.compare(value, tensor, tol=trust.tolerance)
        if found.match is True:
            matches.add(known)
        if known != INITIAL and (closest is None or found.max_diff < closest[0]):
            closest = (found.max_diff, known, finite(found.mean_diff))
    if closest is None:
        return Operand(value, frozenset(matches), code=code, problem="" if matches else problem)
    return Operand(value, frozenset(matches), closest[1], finite(closest[0]), closest[2])


def _broken(code: str, value: torch.Tensor, tensor: torch.Tensor) -> str:
    if code == "dtype-mismatch":
        return f"is {value.dtype}, and should be {tensor.dtype}"
    return "has values that are NaN or infinite" if code == "not-finite" else "cannot be compared"


def _row(rank: int, calls: Sequence[Call], wrong: bool) -> RankVerdict:
    """The largest differences of what should have agreed; unknown when an operand could not be compared."""
    sides = [side for call in calls if call.kind != "moved" for side in (call.first, call.second)]
    largest = [side.max_diff for side in sides if side.max_diff is not None]
    means = [side.mean_diff for side in sides if side.mean_diff is not None]
    known = bool(sides) and len(largest) == len(means) == len(sides)
    return RankVerdict(
        rank,
        "failed" if wrong else "passed",
        not wrong,
        max(largest) if known else None,
        max(means) if known else None,
    )


def _absent(rank: int, calls: Sequence[Call], case: Case, file: str) -> list[Finding]:
    findings = []
    kinds = {call.kind for call in calls}
    if rank == 0 and "moved" not in kinds:
        message = (
            "No comparison on rank 0 sets the initial weight against the updated one: the first comparison "
            "must show that the step changes the weight. Look whether `single_step` returns both, and each "
            "as it should be."
        )
        findings.append(Finding("comparison-missing", message, case.check, (rank,), file))
    if not kinds & {"agrees", "wrong", "itself"}:
        message = (
            "The driver compares no result of this rank with the baseline. Every rank compares its "
            "weights, so keep those lines outside of `if rank == 0`."
        )
        findings.append(Finding("comparison-missing", message, case.check, (rank,), file, None))
    return findings


def _explain(call: Call, case: Case, file: str, trust: Trust) -> Finding:
    where = f' with prefix "{call.prefix}"' if call.prefix else ""
    if call.kind == "itself":
        message = (
            f"The comparison{where} sets a tensor against itself, which holds whatever it is. Compare the "
            "weight that this part returns with the updated weight of the single-device step."
        )
        return Finding("comparison-missing", message, case.check, (call.rank,), file, call.line)
    code, parts = "", []
    for name, side in (("first", call.first), ("second", call.second)):
        wrong, words = _describe(side, trust)
        if words:
            parts.append(f"its {name} operand {words}")
            code = code or wrong
    if not parts:
        parts.append(
            f"its operands are two different weights ({call.first.closest} and {call.second.closest})"
        )
    message = (
        f"The comparison{where} does not show what it should: {' and '.join(parts)}. Both operands of a "
        "comparison must be the updated weight of the baseline."
    )
    return Finding(code or "wrong-values", message, case.check, (call.rank,), file, call.line)


def _describe(side: Operand, trust: Trust) -> tuple[str, str]:
    """A code and words for an operand that is not an updated weight; empty for one that is."""
    if side.matches - {INITIAL}:
        return "", ""
    if INITIAL in side.matches:
        return "no-update", "is the initial weight, so nothing was updated"
    if side.value is None or not side.closest:
        return side.code, side.problem
    words = f"differs from the baseline's {side.closest} by up to {_shown(side.max_diff)}"
    initial = trust.initial.get(side.closest)
    if initial is None:
        return "wrong-values", words
    if close(side.value, initial, trust.tolerance):
        return "no-update", f"is the {side.closest} as it was before the step"
    k = scale_factor(initial, trust.expected[side.closest], side.value, trust.tolerance)
    if k is not None:
        words += f" (the update is {k:.3g} times the expected one)"
    return "wrong-values", words


def _shown(difference: float | None) -> str:
    return "more than can be stored" if difference is None else f"{difference:.3g}"
