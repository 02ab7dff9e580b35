"""torch's compiler stays out of a process that compiles nothing, and comes when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.run.made import ROOT

POSTPONED = """
import sys
import torch
from grader import lazy_compiler
lazy_compiler.postpone()
real = lambda: type(sys.modules["torch._dynamo"]).__name__ == "module"
real_shapes = lambda: type(sys.modules["torch.fx.experimental.symbolic_shapes"]).__name__ == "module"
"""


def run(source: str) -> None:
    program = [sys.executable, "-c", POSTPONED + source]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def test_a_training_step_does_not_import_the_compiler():
    run(
        """
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], lr=0.5)
weight.sum().backward()
optimizer.step()
optimizer.zero_grad()
import inspect, linecache
linecache.checkcache(); inspect.getmodule(run := lambda: 0)
assert weight.tolist() == [0.5, 0.5]
assert not real()
lazy_compiler.postpone()
assert not real()
"""
    )


def test_a_gradient_handed_to_backward_does_not_import_symbolic_shapes():
    run(
        """
weight = torch.ones(2, 3, requires_grad=True)
(2 * weight).backward(torch.full((2, 3), 5.0))
assert weight.grad.tolist() == [[10.0] * 3] * 2
for wrong in (torch.ones(3, 2), torch.ones(2), torch.ones(2, 3, 1)):
    try:
        (2 * weight).backward(wrong)
    except RuntimeError as error:
        assert "Mismatch in shape" in str(error)
    else:
        assert False
assert not real_shapes()
"""
    )


def test_symbolic_shapes_come_when_they_are_asked_for():
    run(
        """
from torch.fx.experimental.symbolic_shapes import expect_true, sym_eq
from torch.fx.experimental.symbolic_shapes import ShapeEnv
assert real_shapes()
assert expect_true(sym_eq(torch.Size([2, 3]), torch.Size([2, 3])))
exported = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(4, 2),),
                               dynamic_shapes={"input": {0: torch.export.Dim("batch")}})
assert exported.module()(torch.ones(7, 2)).shape == (7, 3)
"""
    )


@pytest.mark.parametrize("use", ["from torch._dynamo import OptimizedModule", "import torch._dynamo.config"])
def test_any_other_use_brings_the_real_compiler(use):
    run(f"{use}\nassert real() and torch._dynamo is sys.modules['torch._dynamo']")


def test_the_real_compiler_works_where_gpus_are_stood_in_for():
    run(
        """
from grader.exercises.cuda_stand_in import CudaStandIn
with CudaStandIn():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1, device="cuda")).item() == 2
assert real()
"""
    )


def test_a_compiler_that_is_there_already_stays():
    run("import torch._dynamo.config\nlazy_compiler.postpone()\nassert real()")
