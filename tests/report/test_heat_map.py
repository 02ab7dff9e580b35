"""The heat map: what is wrong is seen, in its place, and said in words."""

from __future__ import annotations

import re

import pytest

from grader.report.pictures.heat_map import NOT_FINITE, HeatMap, heat_map
from grader.report.schema import DifferenceRow
from tests.report.examples import blocks, case

Grid = tuple[tuple[float | None, ...], ...]


def picture(*rows: DifferenceRow, tolerance: float = 1e-5) -> HeatMap:
    drawn = heat_map(case(status="failed", differences=rows), tolerance)
    assert drawn is not None
    return drawn


def row(grid: Grid, rank: int = 0, shape: tuple[int, ...] = (64, 32), name: str = "weight") -> DifferenceRow:
    return DifferenceRow(rank=rank, name=name, shape=shape, grid=grid)


def patches(path: str) -> set[tuple[int, int]]:
    """The (row, column) of each patch that a path covers."""
    covered = set()
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1H\1z", path):
        covered |= {(int(y), column) for column in range(int(x), int(x) + int(width))}
    return covered


def test_nothing_is_drawn_where_nothing_differs() -> None:
    assert heat_map(case(), 1e-5) is None


def test_a_wrong_shard_has_colour_and_the_right_one_has_none() -> None:
    (panel,) = picture(row(blocks(8, 16))).panels
    coloured = set().union(*(patches(path) for level, path in panel.paths if level > 0))
    assert coloured == {(r, c) for r in range(32) for c in range(8, 16)}
    assert panel.where == "columns 8 to 15" and panel.differ == 32 * 8


def test_a_stale_shard_of_rows_is_told_in_the_rows_of_the_tensor() -> None:
    grid = tuple((0.3,) * 32 if r >= 16 else (1e-8,) * 32 for r in range(32))
    drawn = picture(row(grid, rank=1))
    assert drawn.panels[0].where == "rows 32 to 63"
    assert "The largest difference is 0.3, in weight of rank 1, in rows 32 to 63." in drawn.description


def test_all_ranks_of_a_case_share_one_scale() -> None:
    first, second = picture(row(((4.0,),)), row(((0.01,),), rank=1)).panels
    assert [level for level, _ in first.paths] == [5] and [level for level, _ in second.paths] == [1]


def test_the_legend_ends_at_the_largest_difference() -> None:
    assert [step.text for step in picture(row(((0.32, 0.1),))).legend] == [
        "≤ 1.0e-05: rounding", "≤ 0.005", "≤ 0.02", "≤ 0.08", "≤ 0.16", "≤ 0.32",
    ]  # fmt: skip


def test_what_is_not_finite_is_hatched_and_in_the_legend() -> None:
    drawn = picture(row(((None, 1e-8), (1e-8, 0.2))))
    assert patches(dict(drawn.panels[0].paths)[NOT_FINITE]) == {(0, 0)}
    assert drawn.legend[-1].level == NOT_FINITE
    assert drawn.summary == (
        "Not finite: weight of rank 0, in 1 of 4 patches. The largest difference is 0.2, in weight of rank 0."
    )
    assert picture(row(((0.2,),))).legend[-1].level != NOT_FINITE


def test_a_grid_of_nothing_but_not_finite_is_drawn() -> None:
    drawn = picture(row(((None, None),), shape=(1, 2)))
    assert drawn.panels[0].largest is None and drawn.panels[0].not_finite == 2


def test_a_rank_that_is_right_beside_wrong_ones_is_told_as_right() -> None:
    drawn = picture(row(((0.5,),)), row(((1e-8,),), rank=2))
    assert drawn.panels[1].paths == () and "Right but for rounding: weight of rank 2." in drawn.description


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (), (4096, 1), (1, 4096), (0, 3)])
def test_every_shape_has_a_panel_that_can_be_seen(shape: tuple[int, ...]) -> None:
    (panel,) = picture(row(((0.5, 1e-8),), shape=shape)).panels
    assert panel.width >= 20 and panel.height >= 20


def test_of_many_tensors_the_worst_are_drawn_and_the_others_counted() -> None:
    rows = [row(((0.001 * number,),), name=f"layer {number}") for number in range(1, 41)]
    drawn = picture(*rows)
    assert drawn.left_out == 8
    assert {panel.name for panel in drawn.panels} == {f"layer {number}" for number in range(9, 41)}
    assert drawn.left_out_of == (0,)


def test_nothing_is_worse_than_what_is_not_finite() -> None:
    rows = [row(((5.0,),), rank) for rank in range(40)]
    rows[37] = row(((None,),), 37)
    drawn = picture(*rows)
    assert 37 in {panel.rank for panel in drawn.panels} and drawn.summary.startswith("Not finite: weight of")
    assert drawn.left_out_of == tuple(rank for rank in range(31, 40) if rank != 37)


def test_what_is_rounding_the_reports_tolerance_says() -> None:
    drawn = picture(row(((0.5, 0.004),)), tolerance=0.005)
    assert drawn.legend[0].text == "≤ 0.005: rounding" and drawn.panels[0].differ == 1


def test_panels_do_not_overlap_and_lie_in_the_picture() -> None:
    rows = [row(blocks(0, 4), rank, name=name) for name in ("first", "second") for rank in range(4)]
    drawn = picture(*rows)
    for number, one in enumerate(drawn.panels):
        assert one.x >= 0 and one.x + one.width <= drawn.width and one.y + one.height <= drawn.height
        for other in drawn.panels[number + 1 :]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y
