"""Which cases of an exercise are drawn, and which of the pictures are open from the beginning.

An exercise has a dozen cases, and most of them look alike: a reader wants the first that went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.report.pictures.heat_map import HeatMap, heat_map
from grader.report.pictures.time_line import TimeLine, time_line
from grader.report.pictures.work_bars import Quantity, work_bars
from grader.report.schema import CaseRow, ExercisePart, FindingRow

_HEAT_MAPS = 2  # of an exercise; each may weigh 50 kB

#: Findings whose ranks were not stopped, but ended by themselves or by something else.
_ENDED_ITSELF = ("exception", "early-exit", "killed", "memory-limit", "todo-left")

Asked = tuple[str, CaseRow]


@dataclass(frozen=True)
class Figure:
    """A picture of one case. ``others`` is how many more cases of the exercise have such a picture."""

    kind: Literal["heat_map", "time_line", "work"]
    check: str
    case: CaseRow
    open: bool
    others: int
    heat_map: HeatMap | None = None
    time_line: TimeLine | None = None
    work: tuple[Quantity, ...] = ()


def figures(part: ExercisePart, tolerance: float = 1e-5) -> tuple[Figure, ...]:
    """The pictures of an exercise, first those that show what went wrong. ``tolerance`` is the report's."""
    cases = [(check.name, case) for check in part.checks for case in check.cases]
    maps = list(_heat_maps(cases, tolerance))
    lines = list(_time_line(cases, part.findings, beside_maps=bool(maps)))
    drawn = [*maps, *lines, *_work(cases)]
    return tuple(sorted(drawn, key=lambda figure: (not figure.open, not _stuck(figure.case))))


def _heat_maps(cases: list[Asked], tolerance: float) -> Iterator[Figure]:
    """Of the first case, and of another one only where other tensors are off in it."""
    found = [(check, case) for check, case in cases if any(row.grid for row in case.differences)]
    first: dict[frozenset[str], Asked] = {}
    for check, case in found:
        first.setdefault(frozenset(row.name for row in case.differences), (check, case))
    for number, (check, case) in enumerate([*first.values()][:_HEAT_MAPS]):
        if picture := heat_map(case, tolerance):
            yield Figure("heat_map", check, case, number == 0, len(found) - 1, heat_map=picture)


def _time_line(cases: list[Asked], findings: Sequence[FindingRow], beside_maps: bool) -> Iterator[Figure]:
    found = [(check, case) for check, case in cases if any(row.spans for row in case.timeline)]
    if found:
        check, case = min(found, key=_first_for(lambda case: not _stuck(case)))
        shown = case.status != "passed" and (_stuck(case) or not beside_maps)
        gone = {
            rank for row in findings if row.check == check and row.code in _ENDED_ITSELF for rank in row.ranks
        }
        yield Figure("time_line", check, case, shown, len(found) - 1, time_line=time_line(case, gone))


def _work(cases: list[Asked]) -> Iterator[Figure]:
    found = [(check, case) for check, case in cases if case.work]
    if found:
        check, case = min(found, key=_first_for(lambda case: not case.theory))
        if drawn := work_bars(case):
            shown = case.status != "passed" and bool(case.theory)
            yield Figure("work", check, case, shown, len(found) - 1, work=drawn)


def _first_for(better: Callable[[CaseRow], bool]) -> Callable[[Asked], tuple[bool, bool, int]]:
    """Those that failed, then those that are ``better`` (false comes first), then those with more ranks."""
    return lambda asked: (asked[1].status == "passed", better(asked[1]), -asked[1].world_size)


def _stuck(case: CaseRow) -> bool:
    return any(span.end is None for row in case.timeline for span in row.spans)
