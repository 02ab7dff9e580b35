"""Logs from the hand-in to the report, with everything real between them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.exercises.assignment4 import LAB
from tests.corpus import CORPUS, load_case
from tests.grading import exercise, grade, grade_path

pytestmark = pytest.mark.sandbox

CASE = "correct/handed_in_with_its_log"
PARTS = [part.name for part in LAB.exercises if part.printed]


def test_the_log_of_a_right_run_is_whole_and_fits_its_code(tmp_path: Path) -> None:
    report = grade(CASE, tmp_path, only=("single_step",))
    evidence = report.evidence
    assert evidence is not None
    assert evidence.files == ("run.err", "run.log") and report.submission.ignored == ()
    assert (evidence.world_size, evidence.complete, evidence.consistent) == (4, True, True)
    assert [claim.part for claim in evidence.claims] == PARTS
    assert report.submission.files == ("assignment4.py",)


@pytest.mark.slow
def test_a_log_of_other_code_is_told_to_be_and_saves_no_points(tmp_path: Path) -> None:
    for name, content in load_case(CORPUS / "wrong" / "data_parallel_not_averaged").items():
        (tmp_path / name).write_bytes(content)
    asked = ("single_step", "data_parallel")
    alone = grade_path(tmp_path, hidden=1, only=asked)
    for name in ("run.log", "run.err"):
        shutil.copy(CORPUS / CASE / name, tmp_path)
    report = grade_path(tmp_path, hidden=1, only=asked)
    assert report.evidence is not None
    assert (report.evidence.complete, report.evidence.consistent) == (True, False)
    assert report.evidence.facts[0] == "The log says that part 3 matches; the code handed in does not."
    assert exercise(report, "data_parallel").status == "failed"
    assert (report.score, report.max_score) == (alone.score, alone.max_score)
