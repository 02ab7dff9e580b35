"""One rank's tensors against the baseline's.

The staff's ``compare_tensors`` gives the numbers; it is asked only after names, shapes, dtypes and
finiteness have been checked here, so that no broadcast, no promotion and no NaN can reach it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from grader.judge.artifacts import RankArtifact, Tensors
from grader.judge.text import clean_line


class Comparison(Protocol):
    """What the staff's ``compare_tensors`` returns."""

    @property
    def match(self) -> bool: ...

    @property
    def max_diff(self) -> float: ...

    @property
    def mean_diff(self) -> float: ...


class CompareFunction(Protocol):
    """The staff's ``compare_tensors``. Raises ValueError for shapes that differ, TypeError for dtypes."""

    def __call__(
        self, tensor1: torch.Tensor, tensor2: torch.Tensor, tol: float = ..., prefix: str = ...
    ) -> Comparison: ...


@dataclass(frozen=True)
class RankVerdict:
    """How one rank did in one case.

    ``status``: ``passed``, ``failed``, ``missing`` (no valid record), ``error`` (the grader's fault).
    ``match`` and the differences (of the weights, absolute) are None where nothing could be compared.
    """

    rank: int
    status: str
    match: bool | None = None
    max_diff: float | None = None
    mean_diff: float | None = None


@dataclass(frozen=True)
class TensorVerdict:
    """How one named tensor of one rank did; ``code`` is empty when it matches, else that of a finding."""

    rank: int
    name: str
    code: str = ""
    detail: str = ""
    max_diff: float | None = None
    mean_diff: float | None = None
    numel: int = 0


def compare_rank(
    expected: Tensors, artifact: RankArtifact, compare: CompareFunction, tolerance: float
) -> tuple[TensorVerdict, ...]:
    """One verdict for each name on either side. The artifact must have a record."""
    names = [*expected, *(name for name in artifact.tensors if name not in expected)]
    return tuple(_compare_name(name, expected, artifact, compare, tolerance) for name in names)


def _compare_name(
    name: str, expected: Tensors, artifact: RankArtifact, compare: CompareFunction, tolerance: float
) -> TensorVerdict:
    rank = artifact.rank
    if name not in expected:
        return TensorVerdict(rank, name, "wrong-type", f"{label(name)} is more than was asked for")
    if name not in artifact.tensors:
        return TensorVerdict(rank, name, "wrong-type", _why_absent(name, artifact))
    value = artifact.tensors[name]
    code, detail = structure_problem(name, value, expected[name])
    if code:
        return TensorVerdict(rank, name, code, detail)
    try:
        found = compare(value, expected[name], tol=tolerance)
    except ValueError:
        return TensorVerdict(rank, name, "shape-mismatch", f"{label(name)} has another shape")
    except TypeError:
        return TensorVerdict(rank, name, "dtype-mismatch", f"{label(name)} has another dtype")
    matched = found.match is True and finite(found.max_diff) is not None
    return TensorVerdict(
        rank, name, "" if matched else "wrong-values", "", finite(found.max_diff), finite(found.mean_diff),
        value.numel(),
    )  # fmt: skip


def _why_absent(name: str, artifact: RankArtifact) -> str:
    problems = artifact.record.problems if artifact.record else {}
    if name in problems:
        return f"{label(name)} cannot be used: {clean_line(problems[name])}"
    return f"{label(name)} did not come back"


def structure_problem(name: str, value: torch.Tensor, expected: torch.Tensor) -> tuple[str, str]:
    """The code and the words for a value that must not be compared: ``("", "")`` when it may be."""
    if type(value) is not torch.Tensor:
        return "wrong-type", f"{label(name)} is a {type(value).__name__}, not a plain tensor"
    if value.shape != expected.shape:
        return "shape-mismatch", (
            f"{label(name)} has shape {list(value.shape)}, and should have {list(expected.shape)}"
        )
    if value.dtype != expected.dtype:
        return "dtype-mismatch", f"{label(name)} is {value.dtype}, and should be {expected.dtype}"
    finite_values = torch.isfinite(value)
    if not bool(finite_values.all()):
        bad = value.numel() - int(finite_values.sum())
        return "not-finite", f"{label(name)} has {bad} of {value.numel()} values that are NaN or infinite"
    return "", ""


def rank_verdict(rank: int, verdicts: Sequence[TensorVerdict]) -> RankVerdict:
    """The tensors of one rank as one row: largest and mean difference over all of its elements.

    Nothing compared is nothing proven: no tensors at all is a failure.
    """
    matched = bool(verdicts) and not any(verdict.code for verdict in verdicts)
    counted = [(v.mean_diff, v.numel) for v in verdicts if v.mean_diff is not None]
    total = sum(numel for _, numel in counted)
    mean = sum(diff * numel for diff, numel in counted) / total if total else None
    return RankVerdict(rank, "passed" if matched else "failed", matched, largest(verdicts), mean)


def largest(verdicts: Iterable[TensorVerdict]) -> float | None:
    """The largest difference; None when a tensor could not be compared, for then it is unknown."""
    differences = [verdict.max_diff for verdict in verdicts]
    known = [difference for difference in differences if difference is not None]
    return max(known) if known and len(known) == len(differences) else None


def finite(number: float) -> float | None:
    """A number that JSON can carry, or None."""
    return float(number) if math.isfinite(number) else None


def label(name: str) -> str:
    """A tensor's name as it stands in a sentence."""
    return f"`{clean_line(name, 100)}`"
