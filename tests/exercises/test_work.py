"""What a rank's recorder counts while a step runs."""

from __future__ import annotations

import torch

from grader.exercises.work import WorkRecorder

BATCH, WIDTH, OUT = 8, 5, 3
INPUTS = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(1))
SHAPES = frozenset({(WIDTH, OUT)})


def step(recorder: WorkRecorder, rows: torch.Tensor, product: str = "bi,io->bo") -> None:
    weight = torch.nn.Parameter(torch.ones(WIDTH, OUT))
    with recorder:
        torch.einsum(product, rows, weight).square().mean().backward()


def test_rows_of_the_batch_in_a_gradient_are_told_however_they_were_taken() -> None:
    for rows, places in (
        (INPUTS[2:4], [2, 3]),
        (INPUTS[1::4], [1, 5]),
        (INPUTS.chunk(4)[3], [6, 7]),
        (INPUTS[[7, 0]], [0, 7]),
        (INPUTS.t()[:, :2].t(), [0, 1]),
    ):
        recorder = WorkRecorder(SHAPES, INPUTS)
        step(recorder, rows)
        assert recorder.facts()["rows"] == places
        assert recorder.facts()["gradient_rows"] == [2]


def test_rows_of_several_gradients_are_added_up() -> None:
    recorder = WorkRecorder(SHAPES, INPUTS)
    step(recorder, INPUTS[:1])
    step(recorder, INPUTS[4:6])
    assert recorder.facts()["rows"] == [0, 4, 5]


def test_a_forward_pass_alone_takes_no_rows() -> None:
    recorder = WorkRecorder(SHAPES, INPUTS)
    with recorder:
        INPUTS @ torch.ones(WIDTH, OUT)
    assert recorder.facts()["rows"] == []
    assert recorder.facts()["flops"] == 2 * BATCH * WIDTH * OUT


def test_without_the_batch_no_rows_are_looked_for() -> None:
    recorder = WorkRecorder(SHAPES)
    step(recorder, INPUTS)
    assert recorder.facts()["rows"] == []
    assert recorder.facts()["gradient_rows"] == [BATCH]
