"""What each rank computed and communicated, beside what the strategy asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from grader.report.pictures.units import LARGEST, short, size
from grader.report.schema import CaseRow

_LEFT, _WIDTH, _ROOM = 58.0, 400.0, 200.0
_LINE, _BAR, _TOP = 26.0, 14.0, 8.0
_ELEMENT = 4  # bytes of a float32, where only shapes were recorded


@dataclass(frozen=True)
class WorkBar:
    """One rank's figure: the bar's width, the x of the mark for theory, and both in words."""

    rank: int
    y: float
    width: float
    mark: float | None
    text: str
    done: int | None
    theory: int | None
    ratio: str


@dataclass(frozen=True)
class Quantity:
    """One picture: a bar for each rank."""

    name: str
    unit: str
    bars: tuple[WorkBar, ...]
    left: float
    bar: float
    width: float
    height: float
    description: str


def work_bars(case: CaseRow) -> tuple[Quantity, ...]:
    """The pictures of a case: matrix products, then communication. Empty where nothing was measured."""
    flops = {row.rank: row.flops for row in case.work}
    found = (
        _quantity("Matrix products", "FLOPs", flops, {row.rank: row.flops for row in case.theory}, short),
        _quantity("Communication", "bytes", _bytes(case), {row.rank: row.bytes for row in case.theory}, size),
    )
    return tuple(quantity for quantity in found if quantity)


def _bytes(case: CaseRow) -> dict[int, int]:
    """By rank, of all tensors that it passed to the process group. Reports of earlier versions do not have
    the sum: there it is that of what is drawn, or of the shapes."""
    drawn = {row.rank: sum(span.bytes for span in row.spans) for row in case.timeline}
    shapes = {row.rank: sum(_ELEMENT * prod(shape) for _, shape in row.collectives) for row in case.work}
    otherwise = drawn if case.timeline else shapes
    return otherwise | {row.rank: row.bytes for row in case.work if row.bytes}


def _quantity(
    name: str, unit: str, done: dict[int, int], theory: dict[int, int], say: Callable[[float], str]
) -> Quantity | None:
    done, theory = ({rank: min(n, LARGEST) for rank, n in row.items()} for row in (done, theory))
    most = max((*done.values(), *theory.values()), default=0)
    if not most or not done:
        return None
    bars = []
    for number, rank in enumerate(sorted({*done, *theory})):
        did, should = done.get(rank), theory.get(rank)
        bars.append(
            WorkBar(
                rank,
                _TOP + number * _LINE,
                round(_ROOM * (did or 0) / most, 2),
                None if should is None else round(_LEFT + _ROOM * should / most, 2),
                "not measured" if did is None else say(did),
                did,
                should,
                _ratio(did, should),
            )
        )
    return Quantity(
        name,
        unit,
        tuple(bars),
        _LEFT,
        _BAR,
        _WIDTH,
        2 * _TOP + len(bars) * _LINE,
        _description(bars, unit, say),
    )


def _ratio(did: int | None, should: int | None) -> str:
    """How the two compare, to stand behind the bar."""
    if did is None or should is None or (did == should == 0):
        return ""
    if should == 0:
        return "none needed"
    times = did / should
    return "as in theory" if 0.995 <= times < 1.005 else f"{times:.3g} × theory"


def _description(bars: list[WorkBar], unit: str, say: Callable[[float], str]) -> str:
    sentences = []
    for bar in bars[:16]:
        told = (
            "not measured"
            if bar.done is None
            else f"{say(bar.done)} {unit if unit != 'bytes' else ''}".strip()
        )
        theory = "" if bar.theory is None else f", in theory {say(bar.theory)}"
        sentences.append(f"Rank {bar.rank}: {told}{theory}.")
    return " ".join(sentences)
