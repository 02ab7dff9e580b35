"""The well-known wrong answers of each exercise, likelier ones first, and what a student is told."""

from __future__ import annotations

from grader.exercises import assignment4_wrong_layers as layer
from grader.exercises import assignment4_wrong_steps as step
from grader.exercises.contract import Mistake

_ROWS, _COLUMNS = 0, 1  # the axis of the weight that parts 5 and 4 split

_LAST_MICRO_BATCH = (
    "Only the last micro-batch is in the update. Look whether `backward()` stands behind the loop, or "
    "whether gradients are cleared inside of it: `backward()` adds to `.grad`, which is cleared once, before "
    "the loop."
)
_FIRST_MICRO_BATCH = (
    "Only the first micro-batch is in the update. Look whether the rows depend on the loop's index, and "
    "whether the loop ends after its first pass (a `return` or a `break` that is indented too far)."
)
_STEP_INSIDE = (
    "The optimizer stepped after every micro-batch, so that later gradients belong to a weight that had "
    "already changed. Call `optimizer.step()` once, after the loop, when all gradients have been added up."
)
_NOT_CLEARED = (
    "The update is twice the expected one: the gradient of the whole batch was added a second time. Look for "
    "a further `backward()` whose gradient was not cleared: `optimizer.zero_grad()` comes right before the "
    "loop, and no backward pass between the two. A second `optimizer.step()` has the same effect."
)
_TWICE = (
    "The weight went through two whole training steps instead of one. Look for a second forward and backward "
    "pass with an `optimizer.step()` of its own, or for a function that is called twice on one weight."
)
_OWN_SLICE = (
    "Each rank followed the gradient of its own rows of the batch alone: the gradients were never averaged "
    "over the ranks, or the result of that was not used. After `backward()`, `param.grad` itself must become "
    "the mean over all ranks, before `optimizer.step()`."
)
_SAME_SLICE = (
    "Every rank followed the gradient of the first slice of the batch. Look whether the rows depend on "
    "`rank` (from `rank * local_batch_size` on), and whether the gradients are summed over the ranks, and "
    "not just sent from rank 0 to the others."
)
_SAME_SHARD = (
    "Every rank worked with the shard of rank 0. Look whether the slice of {what} depends on `rank`."
)
_SHARD_ORDER = (
    "The ranks took the shards of the weight in another order than that in which they are put together. Rank "
    "r takes the r-th block of {what}, and the blocks are put together from rank 0 on."
)
_STRIDED = (
    "Each rank took every world_size-th of the {what} instead of a block of neighbours: rank r takes those "
    "from `r * local` to `(r + 1) * local`."
)
_OWN_SHARD_UPDATED = (
    "Only this rank's {what} of the returned weight were updated; the others are as they were before the "
    "step. Gather the updated shards of all ranks after `optimizer.step()`."
)
_NOT_REDUCED = (
    "Each rank took its own term for the whole output: the terms were not summed over the ranks, or the sum "
    "was not used. `ReduceParallel` must return the all-reduced tensor, and the layer must return what "
    "`ReduceParallel.apply` gives."
)
_INPUT_COLUMNS = (
    "The columns of X that a rank takes are not those that meet its rows of W: rank r takes the r-th block "
    "of both. Look at the slice in `ScatterParallel`."
)
_PARTIAL_INPUT_GRADIENT = (
    "Output and weight gradient are right, but the gradient of X holds only this rank's part of it. The "
    "layer before this one would learn from the wrong gradient. "
)
_COLUMN_INPUT_GRADIENT = (
    _PARTIAL_INPUT_GRADIENT + "The parts must be summed over the ranks in the backward pass of "
    "`BroadcastParallel`; look whether the layer goes on with what `BroadcastParallel.apply(X)` returns, "
    "since a result that is dropped has no part in the backward pass."
)
_ROW_INPUT_GRADIENT = (
    _PARTIAL_INPUT_GRADIENT + "The backward pass of `ScatterParallel` must gather the columns of all ranks."
)
_LAYERS_REVERSED = (
    "The stage's weights are right, but they came back from its last layer to its first: return them in the "
    "order of the layers."
)


def _one(scale: int) -> float:
    return 1.0


def _divided(count: int) -> float:
    return 1 / count


def _times(count: int) -> float:
    return float(count)


_SCALES = (_divided, _one, _times)
_STEPPED_TWICE = Mistake("stepped-twice", _TWICE, step.weight_after(step.two_steps))
_REVERSED = layer.blocks(lambda rank, world_size: world_size - 1 - rank)
_AHEAD = layer.blocks(lambda rank, world_size: (rank + 1) % world_size)
_BEHIND = layer.blocks(lambda rank, world_size: (rank - 1) % world_size)
_FIRST = layer.blocks(lambda rank, world_size: 0)

SINGLE_STEP = (Mistake("stepped-twice", _TWICE, step.two_whole_steps),)

GRAD_ACCUMULATION = (
    *(Mistake("last-micro-batch-only", _LAST_MICRO_BATCH, step.one_micro_batch(-1, s)) for s in _SCALES[:2]),
    *(Mistake("first-micro-batch-only", _FIRST_MICRO_BATCH, step.one_micro_batch(0, s)) for s in _SCALES),
    *(
        Mistake("step-inside-loop", _STEP_INSIDE, step.step_per_micro_batch(scaled, cleared))
        for scaled in (True, False)
        for cleared in (True, False)
    ),
    Mistake("gradients-not-cleared", _NOT_CLEARED, step.weight_after(step.whole_batch_besides)),
    _STEPPED_TWICE,
)

DATA_PARALLEL = (
    *(Mistake("own-slice-only", _OWN_SLICE, step.one_slice(True, s)) for s in _SCALES[:2]),
    *(Mistake("same-slice-on-every-rank", _SAME_SLICE, step.one_slice(False, s)) for s in _SCALES),
    _STEPPED_TWICE,
)

COLUMN_PARALLEL = (
    Mistake("own-slice-only", _OWN_SHARD_UPDATED.format(what="columns"), layer.own_shard_updated(_COLUMNS)),
    Mistake(
        "same-slice-on-every-rank",
        _SAME_SHARD.format(what="the weight's columns"),
        layer.other_weight(_COLUMNS, _FIRST),
    ),
    *(
        Mistake("shard-order", _SHARD_ORDER.format(what="columns"), layer.other_weight(_COLUMNS, order))
        for order in (_REVERSED, _AHEAD, _BEHIND)
    ),
    Mistake("wrong-slice", _STRIDED.format(what="columns"), layer.other_weight(_COLUMNS, layer.strided)),
    Mistake("wrong-slice", _STRIDED.format(what="columns"), layer.gathered_in(_COLUMNS, layer.strided)),
    _STEPPED_TWICE,
    Mistake("input-gradient-wrong", _COLUMN_INPUT_GRADIENT, layer.own_input_gradient(_COLUMNS)),
)

ROW_PARALLEL = (
    Mistake("own-slice-only", _NOT_REDUCED, layer.layer_step(_ROWS, layer.own_term_only)),
    Mistake("own-slice-only", _OWN_SHARD_UPDATED.format(what="rows"), layer.own_shard_updated(_ROWS)),
    Mistake(
        "same-slice-on-every-rank",
        _SAME_SHARD.format(what="the weight's rows"),
        layer.other_weight(_ROWS, _FIRST),
    ),
    Mistake("same-slice-on-every-rank", _SAME_SHARD.format(what="X's columns"), layer.other_inputs(_FIRST)),
    *(
        Mistake("shard-order", _SHARD_ORDER.format(what="rows"), layer.other_weight(_ROWS, order))
        for order in (_REVERSED, _AHEAD, _BEHIND)
    ),
    *(
        Mistake("wrong-slice", _INPUT_COLUMNS, layer.other_inputs(order))
        for order in (_REVERSED, _AHEAD, _BEHIND, layer.strided)
    ),
    Mistake("wrong-slice", _STRIDED.format(what="rows"), layer.other_weight(_ROWS, layer.strided)),
    Mistake("wrong-slice", _STRIDED.format(what="rows"), layer.gathered_in(_ROWS, layer.strided)),
    _STEPPED_TWICE,
    Mistake("input-gradient-wrong", _ROW_INPUT_GRADIENT, layer.own_input_gradient(_ROWS)),
)

PIPELINE = (
    *(
        Mistake("last-micro-batch-only", _LAST_MICRO_BATCH, step.deep_one_micro_batch(-1, scale))
        for scale in _SCALES[:2]
    ),
    *(
        Mistake("first-micro-batch-only", _FIRST_MICRO_BATCH, step.deep_one_micro_batch(0, scale))
        for scale in _SCALES
    ),
    *(
        Mistake("step-inside-loop", _STEP_INSIDE, step.deep_step_per_micro_batch(scaled))
        for scaled in (True, False)
    ),
    Mistake("stepped-twice", _TWICE, step.deep_values(step.deep_two_steps)),
    Mistake("shard-order", _LAYERS_REVERSED, step.layers_reversed),
)
