"""What wrong values say about the mistake behind them.

Most mistakes leave a mark in the arithmetic: (W0 - W_student) against (W0 - W_baseline), or the values of a
well-known mistake. Each explainer recognises one mark. They are tried in order on the ranks whose values are
wrong; what one explains is not asked again. To name another mistake, write another explainer and add it to
`EXPLAINERS`, or add a `grader.exercises.contract.Mistake` to the exercise.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.judge.compare import label
from grader.judge.evidence import Evidence, Explainer, Explanation, is_gradient
from grader.judge.factors import factor_cause, scale_factor
from grader.judge.findings import name_ranks
from grader.judge.input_gradient import input_gradient_wrong
from grader.judge.known import known_mistake
from grader.judge.near import close, largest_difference, near
from grader.judge.shards import shard_order


def explain_values(evidence: Evidence) -> tuple[Explanation, ...]:
    """Why the wrong ranks are wrong: each of them is in exactly one explanation."""
    found: list[Explanation] = []
    while evidence.wrong:
        explanation = next(filter(None, (explain(evidence) for explain in EXPLAINERS)))
        found.append(explanation)
        left = {rank: names for rank, names in evidence.wrong.items() if rank not in explanation.ranks}
        evidence = replace(evidence, wrong=left)
    return tuple(found)


def initial_weight_changed(evidence: Evidence) -> Explanation | None:
    """A value that should be the one before the update is the one after it: the two share their memory."""
    ranks = []
    for rank, names in evidence.wrong.items():
        updated = [evidence.expected[rank][name] for name in evidence.initial[rank]]
        returned = evidence.returned[rank]
        if all(
            name not in evidence.initial[rank]
            and any(close(returned[name], value, evidence.tolerance) for value in updated)
            for name in names
        ):
            ranks.append(rank)
    if not ranks:
        return None
    shown = ", ".join(label(name) for name in evidence.wrong[ranks[0]])
    return Explanation(
        "initial-weight-changed",
        f"{shown} came back as the weight after the update. Either the updated weight is returned in its "
        "place, or the parameter shares its memory with the tensor that it was made from, so that the step "
        "changed both: make the parameter from a copy (`weight.clone()`).",
        tuple(ranks),
    )


def no_update(evidence: Evidence) -> Explanation | None:
    """Every wrong value is the one before the update."""
    ranks = tuple(
        rank
        for rank, names in evidence.wrong.items()
        if all(
            name in evidence.initial[rank]
            and close(evidence.returned[rank][name], evidence.initial[rank][name], evidence.tolerance / 10)
            for name in names
        )
    )
    if not ranks:
        return None
    if all(is_gradient(name) for name in evidence.wrong[ranks[0]]):
        return Explanation(
            "no-update",
            "The gradients are zero after the backward pass: none of it reached the layer. Look whether the "
            "output that the layer returns is computed from its parameter by operations that autograd "
            "records; what a collective fills does not remember where it came from.",
            ranks,
        )
    return Explanation(
        "no-update",
        "The weight came back as it was before the step: nothing was updated. Look whether the backward "
        "pass runs, whether its gradient reaches the parameter that the optimizer holds, whether "
        "`optimizer.step()` is called after it, and whether the updated parameter is what is returned.",
        ranks,
    )


def one_factor(evidence: Evidence) -> Explanation | None:
    """The update is the expected one times one constant."""
    factors = {rank: k for rank in evidence.wrong if (k := _rank_factor(evidence, rank)) is not None}
    if not factors:
        return None
    first = next(iter(factors.values()))
    ranks = tuple(rank for rank, k in factors.items() if abs(k - first) <= 1e-3 * abs(first))
    what = "gradient" if all(map(is_gradient, evidence.wrong[ranks[0]])) else "update"
    code, message = factor_cause(first, evidence.exercise, evidence.case, evidence.arguments, what)
    return Explanation(code, message, ranks)


def _rank_factor(evidence: Evidence, rank: int) -> float | None:
    names = evidence.wrong[rank]
    if not all(name in evidence.initial[rank] for name in names):
        return None
    initial, expected, returned = (
        torch.cat([values[rank][name].double().flatten() for name in names])
        for values in (evidence.initial, evidence.expected, evidence.returned)
    )
    return scale_factor(initial, expected, returned, evidence.tolerance)


def shards_misplaced(evidence: Evidence) -> Explanation | None:
    """The weight is made of the right shards, in a wrong order or not each of them once."""
    shards = evidence.case.world_size
    orders: dict[int, tuple[int, ...]] = {}
    for rank, names in evidence.wrong.items():
        found = {
            shard_order(
                evidence.returned[rank][name], evidence.expected[rank][name], shards, evidence.tolerance
            )
            for name in names
        }
        if len(found) == 1 and (order := found.pop()):
            orders[rank] = order
    repeated = {rank: order for rank, order in orders.items() if len(set(order)) < shards}
    chosen = repeated or orders
    if not chosen:
        return None
    rank, order = next(iter(chosen.items()))
    shown = ", ".join(map(str, order))
    if repeated:
        return Explanation(
            "shard-repeated",
            f"The gathered weight of rank {rank} is made of right shards, but not of each of them once: at "
            f"places 0 to {shards - 1} stand the shards of ranks {shown}. Look at the list that the gather "
            "fills: each entry must be a tensor of its own (`[t] * world_size` is one tensor several "
            "times), and all of them go into the result.",
            tuple(chosen),
        )
    return Explanation(
        "shard-order",
        f"The gathered weight has every shard, but in a wrong order: rank {rank} has the shards of ranks "
        f"{shown} at places 0 to {shards - 1}. Look at which rank takes which slice of the weight, and at "
        "the order in which the slices are put together again.",
        tuple(chosen),
    )


def ranks_disagree(evidence: Evidence) -> Explanation | None:
    """Ranks that should have one and the same value have different ones."""
    returned = evidence.returned
    apart = 0.0
    for rank, other in ((a, b) for a in evidence.wrong for b in returned if a != b):
        for name in set(evidence.wrong[rank]) & set(returned[other]):
            if torch.equal(evidence.expected[rank][name], evidence.expected[other][name]):
                mine, theirs = returned[rank][name], returned[other][name]
                if not close(mine, theirs, evidence.tolerance):
                    apart = max(apart, largest_difference(mine, theirs))
    if not apart:
        return None
    right = sorted(set(returned) - set(evidence.wrong))
    agrees = (
        f"{name_ranks(right).capitalize()} agree{'s' * (len(right) == 1)} with the baseline. "
        if right
        else ""
    )
    return Explanation(
        "ranks-disagree",
        "After the step every rank must hold the same values, but they differ between ranks by up to "
        f"{apart:.3g}. {agrees}Look for a collective that only some ranks call, that comes too early or too "
        "late, or whose result is not used.",
        tuple(evidence.wrong),
    )


def wrong_values(evidence: Evidence) -> Explanation:
    """No named cause: say how far off the values are."""
    rank, names = next(iter(evidence.wrong.items()))
    worst = max(
        names,
        key=lambda name: largest_difference(evidence.returned[rank][name], evidence.expected[rank][name]),
    )
    value, expected = evidence.returned[rank][worst], evidence.expected[rank][worst]
    off = int((~near(value, expected, evidence.tolerance)).sum())
    size = ""
    if worst in evidence.initial[rank] and not is_gradient(worst):
        update = largest_difference(expected, evidence.initial[rank][worst])
        size = f" (the largest step of a right update is {update:.3g})"
    return Explanation(
        "wrong-values",
        f"The values are not those of the single-device baseline: on rank {rank}, {off} of {value.numel()} "
        f"values of {label(worst)} are off, by up to {largest_difference(value, expected):.3g}{size}. "
        "Compare it line by line with the single-device step: which rows of the batch and which part of "
        "the weight enter, and what happens to the gradient before `optimizer.step()`.",
        tuple(evidence.wrong),
    )


EXPLAINERS: tuple[Explainer, ...] = (
    initial_weight_changed,
    known_mistake,
    input_gradient_wrong,
    no_update,
    one_factor,
    shards_misplaced,
    ranks_disagree,
    wrong_values,
)
