"""How long a submission of a class takes, against one bare 4-rank torchrun; and a run with nothing to do."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grader.cases import cases_for
from grader.exercises.assignment4 import LAB
from grader.rubric import load_rubric
from tests.corpus import CORPUS, load_case
from tests.grading import COURSE, cases
from tests.intake.archives import zip_of

SUBMISSIONS = 30
DEADLOCKS = ("wrong/collective_mismatch", "wrong/send_recv_order", "wrong/rank_never_arrived")
#: Wrong in their values, or with an exception: what most wrong submissions are.
WRONG = (
    "wrong/data_parallel_not_averaged", "wrong/data_parallel_exception", "wrong/column_parallel_shard_order",
    "wrong/grad_accumulation_not_scaled", "wrong/pipeline_layer_order", "wrong/row_parallel_not_reduced",
    "wrong/single_step_no_update",
)  # fmt: skip


def measure(bare_seconds: float, run: Callable[[list[str | Path]], float]) -> None:
    """Print the figures; ``run`` takes a command and returns its wall time in seconds."""
    right = [f"correct/{name}" for name in cases("correct")]
    mixed = [*DEADLOCKS, *WRONG]
    mixed += [right[number % len(right)] for number in range(SUBMISSIONS - len(mixed))]
    all_right = [right[number % len(right)] for number in range(10)]
    with tempfile.TemporaryDirectory() as folder:
        one = _class_of(Path(folder, "right"), all_right, run) / len(all_right)
        stuck = _class_of(Path(folder, "stuck"), list(DEADLOCKS) * 3, run) / (3 * len(DEADLOCKS))
        mean = _class_of(Path(folder, "mixed"), mixed, run) / SUBMISSIONS
        again = _graded(Path(folder, "mixed"), run)
    rubric = load_rubric(COURSE.rubric_path)
    asked = sum(len(cases_for(rubric, LAB, exercise, 1)) for exercise in LAB.exercises)
    print(f"\nA class of {SUBMISSIONS} ({len(WRONG)} wrong, {len(DEADLOCKS)} deadlocked), per submission")
    apart = asked * bare_seconds
    for what, seconds, told in (
        ("all of it", mean, f"{mean / bare_seconds:4.2f} x one bare torchrun"),
        (f"one torchrun for each of {asked} cases", apart, f"{apart / mean:4.0f} x as long"),
        ("right ones only", one, ""),
        ("deadlocked ones only", stuck, f"{stuck / one:4.2f} x a right one"),
        ("the whole class once more", again, "nothing to run"),
    ):
        print(f"  {what:<34} {seconds:7.2f} s   {told}".rstrip())


def _class_of(folder: Path, names: list[str], run: Callable[[list[str | Path]], float]) -> float:
    folder.mkdir()
    for number, name in enumerate(names):
        (folder / f"student{number:02d}.zip").write_bytes(zip_of(load_case(CORPUS / name)))
    return _graded(folder, run)


def _graded(folder: Path, run: Callable[[list[str | Path]], float]) -> float:
    begun = time.monotonic()
    run([Path(sys.executable).parent / "grader", "check", folder, "--out", f"{folder}-results"])
    return time.monotonic() - begun
