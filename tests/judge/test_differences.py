"""Drawings of |student - baseline|."""

from __future__ import annotations

import torch

from grader.judge.artifacts import RankArtifact
from grader.judge.differences import differences


def drawn(*returned: torch.Tensor, expected: torch.Tensor) -> list[tuple[int, object]]:
    artifacts = [RankArtifact(rank, tensors={"weight": value}) for rank, value in enumerate(returned)]
    found = differences({rank: {"weight": expected} for rank in range(len(returned))}, artifacts, 1e-5)
    return [(one.rank, one.grid) for one in found]


def test_every_rank_of_a_tensor_is_drawn_where_one_is_wrong() -> None:
    right, wrong = torch.zeros(2, 2), torch.tensor([[0.0, 0.5], [0.0, 0.0]])
    assert drawn(right, wrong, expected=right) == [
        (0, ((0.0, 0.0), (0.0, 0.0))),
        (1, ((0.0, 0.5), (0.0, 0.0))),
    ]
    assert drawn(right, right, expected=right) == []


def test_a_patch_of_a_large_tensor_shows_its_largest_difference() -> None:
    wrong = torch.zeros(64, 96)
    wrong[1, 2], wrong[0, 0] = -0.75, 0.25
    ((_, grid),) = drawn(wrong, expected=torch.zeros(64, 96))
    assert isinstance(grid, tuple)
    assert (len(grid), len(grid[0])) == (32, 32)
    assert grid[0][0] == 0.75
    assert sum(value for row in grid for value in row) == 0.75


def test_a_value_that_is_not_finite_is_no_number_in_the_drawing() -> None:
    wrong = torch.tensor([[float("nan"), 1.0], [float("inf"), 0.0]])
    assert drawn(wrong, expected=torch.zeros(2, 2)) == [(0, ((None, 1.0), (None, 0.0)))]


def test_what_has_another_shape_or_is_no_matrix_is_not_drawn() -> None:
    assert drawn(torch.ones(2, 3), expected=torch.zeros(3, 2)) == []
    assert drawn(torch.ones(4), expected=torch.zeros(4)) == []
