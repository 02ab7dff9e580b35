"""|student - baseline| of what came back wrong, made small enough to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from grader.judge.artifacts import RankArtifact, Tensors

_PATCHES = 32  # at most, along each side of a drawing
_MOST = 8  # tensors of one rank that are drawn
_DIGITS = 3

Grid = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Difference:
    """One tensor of one rank. ``grid`` has the largest difference in each patch of it, row by row; None
    where the student's value is not finite."""

    rank: int
    name: str
    shape: tuple[int, ...]
    grid: Grid


def differences(
    expected: Mapping[int, Tensors], artifacts: Sequence[RankArtifact], tolerance: float
) -> tuple[Difference, ...]:
    """The drawings of a case: every rank's tensor of a name, where one of them is not right and its shape is
    that of the baseline. Only matrices are drawn."""
    drawn: list[Difference] = []
    wrong: set[str] = set()
    for artifact in artifacts:
        trusted = expected.get(artifact.rank, {})
        names = [name for name, value in artifact.tensors.items() if _can_be_drawn(value, trusted.get(name))]
        for name in names[:_MOST]:
            apart = (artifact.tensors[name].double() - trusted[name].double()).abs()
            if not bool((apart <= tolerance).all()):
                wrong.add(name)
            drawn.append(Difference(artifact.rank, name, tuple(apart.shape), _grid(apart)))
    return tuple(difference for difference in drawn if difference.name in wrong)


def _can_be_drawn(value: torch.Tensor, trusted: torch.Tensor | None) -> bool:
    if trusted is None or value.shape != trusted.shape or value.ndim != 2 or value.numel() == 0:
        return False
    return value.dtype.is_floating_point


def _grid(apart: torch.Tensor) -> Grid:
    """NaN and infinite differences are told apart from large ones: a patch with one of them is None."""
    finite = apart.isfinite()
    rows, columns = (min(_PATCHES, side) for side in apart.shape)
    largest = _pooled(torch.where(finite, apart, 0.0), rows, columns)
    broken = _pooled((~finite).double(), rows, columns) > 0
    return tuple(
        tuple(None if bad else _rounded(value) for value, bad in zip(row, bads, strict=True))
        for row, bads in zip(largest.tolist(), broken.tolist(), strict=True)
    )


def _pooled(matrix: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    pooled: torch.Tensor = F.adaptive_max_pool2d(matrix[None, None], (rows, columns))
    return pooled[0, 0]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS - 1}e}")
