"""How the scores of a class are spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HIGHEST, _TOP, _BELOW = 440.0, 190.0, 18.0, 22.0


@dataclass(frozen=True)
class Column:
    """So many students with so many percent of the points."""

    percent: str
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Distribution:
    """A column for each tenth, and one for full marks."""

    columns: tuple[Column, ...]
    width: float
    height: float
    description: str


def distribution(counts: Sequence[int]) -> Distribution:
    """``counts`` are those of `grader.report.tallies.tenths`."""
    step, most = _WIDTH / len(counts), max(max(counts), 1)
    columns = []
    for tenth, count in enumerate(counts):
        height = round(_HIGHEST * count / most, 2)
        percent = "100" if tenth == len(counts) - 1 else f"{10 * tenth}"
        x = round(tenth * step + 2, 2)
        columns.append(Column(percent, count, x, _TOP + _HIGHEST - height, round(step - 4, 2), height))
    told = [f"{one.count} with {_range(one.percent)}" for one in columns if one.count]
    description = f"Students by score: {', '.join(told) or 'none'}."
    return Distribution(tuple(columns), _WIDTH, _TOP + _HIGHEST + _BELOW, description)


def _range(percent: str) -> str:
    return "full marks" if percent == "100" else f"{percent} to {int(percent) + 9} %"
