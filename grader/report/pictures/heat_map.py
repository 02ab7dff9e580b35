"""|student - baseline| of each rank's tensors: where a weight is wrong, at a glance.

All panels of a case share one scale, so that a rank that is worse looks worse.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf

from grader.report.pictures.units import difference
from grader.report.schema import CaseRow, DifferenceRow

NOT_FINITE = -1
_STEPS = (64, 16, 4, 2, 1)  # the levels end at the largest difference over these
_SIDE, _NARROW = 230.0, 22.0  # pixels of a panel: the longer side, and the least
_PAGE = 850.0  # pixels that all panels of a row share
_LEFT, _TOP, _GAP, _LINE = 34.0, 46.0, 20.0, 14.0
_MOST_PANELS = 32

Grid = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Step:
    """One colour of the scale: ``level`` 0 is right but for rounding, `NOT_FINITE` has no colour."""

    level: int
    text: str


@dataclass(frozen=True)
class Panel:
    """One tensor of one rank. ``paths`` has an SVG path in units of patches for each level that occurs;
    ``patches`` is how many rows and columns of them there are, ``differ`` and ``not_finite`` how many are
    off. ``where`` says which rows and columns those are in."""

    rank: int
    name: str
    shape: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float
    patches: tuple[int, int]
    paths: tuple[tuple[int, str], ...]
    largest: float | None
    differ: int
    not_finite: int
    where: str
    first_of_row: bool


@dataclass(frozen=True)
class HeatMap:
    """The panels of a case: a row for each name, a column for each rank. ``left_out`` are not drawn, and are
    of the ranks ``left_out_of``; ``summary`` is the weightiest of the ``description``."""

    panels: tuple[Panel, ...]
    legend: tuple[Step, ...]
    width: float
    height: float
    description: str
    summary: str
    left_out: int
    left_out_of: tuple[int, ...]


def heat_map(case: CaseRow, tolerance: float) -> HeatMap | None:
    """The picture of a case, or None where there is nothing to draw. ``tolerance`` is what two right
    computations may differ by."""
    found = [row for row in case.differences if row.grid and row.grid[0]]
    drawn = _the_worst(found)
    if not drawn:
        return None
    largest = max((_largest(row.grid) or 0.0 for row in drawn), default=0.0)
    bounds = _bounds(largest, tolerance)
    columns = {rank: number for number, rank in enumerate(sorted({row.rank for row in drawn}))}
    lines = {name: number for number, name in enumerate(dict.fromkeys(row.name for row in drawn))}
    room = (_PAGE - _LEFT) / len(columns) - _GAP
    sizes = [_size(row, room) for row in drawn]
    wide, high = max(max(width for width, _ in sizes), 52.0), max(height for _, height in sizes)
    panels = []
    for row, (width, height) in zip(drawn, sizes, strict=True):
        x = _LEFT + columns[row.rank] * (wide + _GAP)
        y = _LINE + 8 + lines[row.name] * (high + _TOP)
        panels.append(_panel(row, (x, y, width, height), bounds, columns[row.rank] == 0))
    legend = _legend(bounds, any(panel.not_finite for panel in panels))
    sentences = _description(panels)
    return HeatMap(
        tuple(panels),
        legend,
        width=_LEFT + len(columns) * (wide + _GAP),
        height=len(lines) * (high + _TOP) - 4,
        description=" ".join(sentences),
        summary=" ".join(sentences[: 1 + sentences[0].startswith("Not finite")]) if sentences else "",
        left_out=len(found) - len(drawn),
        left_out_of=tuple(sorted({row.rank for row in found if not any(row is one for one in drawn)})),
    )


def _the_worst(rows: Sequence[DifferenceRow]) -> list[DifferenceRow]:
    """As many as fit, in their own order. What is not finite is worse than any number."""
    if len(rows) <= _MOST_PANELS:
        return list(rows)
    worst = sorted(range(len(rows)), key=lambda number: -_badness(rows[number].grid))
    return [rows[number] for number in sorted(worst[:_MOST_PANELS])]


def _badness(grid: Grid) -> float:
    return inf if any(value is None for line in grid for value in line) else _largest(grid) or 0.0


def _largest(grid: Grid) -> float | None:
    return max((value for line in grid for value in line if value is not None), default=None)


def _bounds(largest: float, tolerance: float) -> list[float]:
    """The upper ends of the levels, from that of rounding on."""
    return [tolerance, *(largest / step for step in _STEPS if largest / step > tolerance)]


def _size(row: DifferenceRow, room: float) -> tuple[float, float]:
    """Pixels, in the proportions of the tensor as far as they can be looked at; ``room`` is for the width."""
    down, across = _lines_and_columns(row)
    scale = min(_SIDE / max(down, across), room / across)
    return max(_NARROW, scale * across), max(_NARROW, scale * down)


def _lines_and_columns(row: DifferenceRow) -> tuple[int, int]:
    if len(row.shape) == 2 and all(row.shape):
        return row.shape[0], row.shape[1]
    return len(row.grid), len(row.grid[0])


def _panel(
    row: DifferenceRow, place: tuple[float, float, float, float], bounds: list[float], first: bool
) -> Panel:
    levels = [
        [NOT_FINITE if value is None else bisect_left(bounds, value, hi=len(bounds) - 1) for value in line]
        for line in row.grid
    ]
    off = [(r, c) for r, line in enumerate(levels) for c, level in enumerate(line) if level]
    not_finite = sum(line.count(NOT_FINITE) for line in levels)
    x, y, width, height = place
    return Panel(
        row.rank,
        row.name,
        row.shape,
        x,
        y,
        width,
        height,
        patches=(len(levels), max(map(len, levels))),
        paths=_paths(levels),
        largest=_largest(row.grid),
        differ=len(off) - not_finite,
        not_finite=not_finite,
        where=_where(row, off),
        first_of_row=first,
    )


def _paths(levels: list[list[int]]) -> tuple[tuple[int, str], ...]:
    """For each level the patches that have it, neighbours in a line as one rectangle. Level 0 is the
    panel's own ground."""
    paths: dict[int, list[str]] = {}
    for r, line in enumerate(levels):
        begin = 0
        for level, same in groupby(line):
            length = len(list(same))
            if level:
                paths.setdefault(level, []).append(f"M{begin} {r}h{length}v1H{begin}z")
            begin += length
    return tuple((level, "".join(paths[level])) for level in sorted(paths))


def _where(row: DifferenceRow, off: list[tuple[int, int]]) -> str:
    """The rows and columns that hold all patches that are off, in the tensor's own numbers."""
    if not off:
        return "nowhere"
    down, across = _lines_and_columns(row)
    words = [
        _range(name, {patch[axis] for patch in off}, patches, total)
        for axis, (name, patches, total) in enumerate(
            (("row", len(row.grid), down), ("column", max(map(len, row.grid)), across))
        )
    ]
    return " of ".join(filter(None, words)) or "everywhere"


def _range(name: str, numbers: set[int], patches: int, total: int) -> str:
    begin, end = min(numbers) * total // patches, -(-(max(numbers) + 1) * total // patches) - 1
    if begin == 0 and end == total - 1:
        return ""
    return f"{name} {begin}" if begin == end else f"{name}s {begin} to {end}"


def _description(panels: Sequence[Panel]) -> list[str]:
    """Sentences, the weightiest first."""
    sentences = []
    if bad := [panel for panel in panels if panel.not_finite]:
        words = [f"{panel.name} of rank {panel.rank}, {_patches(panel)}" for panel in bad[:8]]
        sentences.append(f"Not finite: {'; '.join(words)}{' and more' if len(bad) > 8 else ''}.")
    wrong = [panel for panel in panels if panel.differ]
    worst = max(wrong, key=lambda panel: panel.largest or 0.0, default=None)
    if worst is not None:
        place = "" if worst.where == "everywhere" else f", in {worst.where}"
        sentences.append(
            f"The largest difference is {difference(worst.largest)},"
            f" in {worst.name} of rank {worst.rank}{place}."
        )
    for panel in [panel for panel in wrong if panel is not worst][:7]:
        sentences.append(
            f"Rank {panel.rank}, {panel.name}: up to {difference(panel.largest)}, {_in(panel.where)}."
        )
    right = [panel for panel in panels if not panel.differ and not panel.not_finite]
    if right:
        names = ", ".join(f"{panel.name} of rank {panel.rank}" for panel in right[:8])
        sentences.append(f"Right but for rounding: {names}{' and more' if len(right) > 8 else ''}.")
    return sentences


def _patches(panel: Panel) -> str:
    total = panel.patches[0] * panel.patches[1]
    return "everywhere" if panel.not_finite == total else f"in {panel.not_finite} of {total} patches"


def _in(where: str) -> str:
    return where if where in ("everywhere", "nowhere") else f"in {where}"


def _legend(bounds: list[float], not_finite: bool) -> tuple[Step, ...]:
    texts = [f"≤ {difference(bounds[0])}: rounding", *(f"≤ {difference(bound)}" for bound in bounds[1:])]
    steps = [Step(level, text) for level, text in enumerate(texts)]
    if not_finite:
        steps.append(Step(NOT_FINITE, "not finite"))
    return tuple(steps)
