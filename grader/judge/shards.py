"""Recognising the shards of which a gathered weight is made."""

from __future__ import annotations

import torch


def shard_order(
    value: torch.Tensor, expected: torch.Tensor, shards: int, tolerance: float
) -> tuple[int, ...] | None:
    """Which shard of ``expected`` stands at each place of ``value``, along the axis where all are found.

    None when a place holds no shard of the expected tensor, when the order is right, or when neither axis
    can be cut into ``shards`` equal parts.
    """
    if shards < 2 or value.shape != expected.shape or not value.numel():
        return None
    right = tuple(range(shards))
    for axis in range(value.ndim):
        if value.shape[axis] % shards == 0:
            order = _order_along(axis, value, expected, shards, tolerance)
            if order is not None and order != right:
                return order
    return None


def _order_along(
    axis: int, value: torch.Tensor, expected: torch.Tensor, shards: int, tolerance: float
) -> tuple[int, ...] | None:
    wanted = expected.double().chunk(shards, axis)
    order = []
    for part in value.double().chunk(shards, axis):
        found = next(
            (
                i
                for i, shard in enumerate(wanted)
                if torch.allclose(part, shard, rtol=tolerance, atol=tolerance)
            ),
            None,
        )
        if found is None:
            return None
        order.append(found)
    return tuple(order)
