"""How near two tensors are, in float64: for explaining a verdict, never for giving it."""

from __future__ import annotations

import torch


def close(value: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    """Equal within the tolerance, absolute plus relative, and of one shape. Computed in float64."""
    return value.shape == expected.shape and bool(near(value, expected, tolerance).all())


def largest_difference(value: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest absolute difference of two tensors of one shape, in float64."""
    return float((value.double() - expected.double()).abs().max()) if value.numel() else 0.0


def near(value: torch.Tensor, expected: torch.Tensor, tolerance: float) -> torch.Tensor:
    """Element by element: whether the two are equal within the tolerance, absolute plus relative."""
    value, expected = value.double(), expected.double()
    return (value - expected).abs() <= tolerance * (1 + expected.abs())
