"""The sandbox of many submissions may die under one of them: that costs nobody anything."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from grader.check import Grader, Progress
from grader.options import Options
from grader.rubric import load_rubric
from tests.grading import COURSE

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("victim", ["sandbox", "agent"])
def test_a_sandbox_that_dies_under_the_first_submission_is_replaced(victim: str) -> None:
    begun, of_others = threading.Event(), psutil.Process().children()
    options = Options(seed=3, only=("single_step",))
    progress = Progress(planned=lambda cases: begun.set())
    with (
        Grader(COURSE, load_rubric(COURSE.rubric_path), options) as grader,
        ThreadPoolExecutor() as pool,
    ):
        graded = pool.submit(grader.grade, COURSE.reference_dir / "assignment4.py", progress)
        assert begun.wait(120)
        (sandbox,) = (child for child in psutil.Process().children() if child not in of_others)
        processes = {"sandbox": sandbox, "agent": sandbox.children(recursive=True)[-1]}
        processes[victim].kill()
        report = graded.result(120).report
    (single_step,) = (part for part in report.exercises if part.name == "single_step")
    assert (single_step.status, single_step.score) == ("passed", single_step.max_score)
