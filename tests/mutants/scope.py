"""Which lines of the reference are changed, and which exercises are asked when they are."""

from __future__ import annotations

import re

#: The step functions: what lies between their solution markers is the student's.
STEPS = {
    "single_step": ("single_step",),
    "single_step_with_grad_accumulation": ("grad_accumulation",),
    "data_parallel_single_step": ("data_parallel",),
    "full_column_parallel_single_step": ("column_parallel",),
    "row_parallel_single_step": ("row_parallel",),
    "pipeline_parallel_single_step": ("pipeline",),
}

#: Layers and autograd functions. The first is used by four exercises.
LAYERS = {
    "CustomLinearLayer": ("single_step", "grad_accumulation", "data_parallel", "pipeline"),
    "BroadcastParallel": ("column_parallel",),
    "GatherParallel": ("column_parallel",),
    "FullColumnParallelLinear": ("column_parallel",),
    "ScatterParallel": ("row_parallel",),
    "ReduceParallel": ("row_parallel",),
    "RowParallelLinear": ("row_parallel",),
    "PipelineStage": ("pipeline",),
}

EXERCISES = {**STEPS, **LAYERS}

#: What is changed in every line. Little of part 3 lies between markers, and all of it is about its ranks.
WHOLE = {*LAYERS, "data_parallel_single_step"}

_BEGIN, _END = re.compile(r"\s*# BEGIN SOLUTION"), re.compile(r"\s*# END SOLUTION")


def solution_lines(source: str) -> frozenset[int]:
    """The lines between solution markers, counted from 1."""
    inside, lines = False, set()
    for number, line in enumerate(source.splitlines(), start=1):
        if _END.match(line):
            inside = False
        if inside:
            lines.add(number)
        if _BEGIN.match(line):
            inside = True
    return frozenset(lines)
