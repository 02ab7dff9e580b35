"""What a report says of the reference's work, beside what theory says."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.report.schema import CaseRow, Report
from tests.grading import COURSE, exercise, grade, grade_path

pytestmark = pytest.mark.sandbox

SHARED = ("data_parallel", "column_parallel", "row_parallel", "pipeline")


@pytest.fixture(scope="module")
def reference() -> Report:
    return grade_path(COURSE.reference_dir / "assignment4.py", hidden=0)


def case_of(report: Report, name: str, check: str) -> CaseRow:
    (found,) = (check_part for check_part in exercise(report, name).checks if check_part.name == check)
    return found.cases[0]


@pytest.mark.parametrize("name", [*SHARED, "grad_accumulation"])
def test_the_reference_does_what_theory_says(reference: Report, name: str) -> None:
    case = case_of(reference, name, "own_share")
    theory = {due.rank: due.flops for due in case.theory}
    done = {work.rank: work.flops for work in case.work}
    assert len(done) == (1 if name == "grad_accumulation" else 4)
    assert done == {rank: theory[rank] for rank in done}


@pytest.mark.parametrize("name", SHARED)
def test_the_reference_communicates_what_theory_says(reference: Report, name: str) -> None:
    case = case_of(reference, name, "own_share")
    assert {done.rank: done.bytes for done in case.work} == {due.rank: due.bytes for due in case.theory}


@pytest.mark.parametrize("name", SHARED)
def test_every_rank_comes_back_from_all_it_communicates_and_to_its_end(reference: Report, name: str) -> None:
    lines = case_of(reference, name, "baseline").timeline
    assert [line.rank for line in lines] == [0, 1, 2, 3]
    for line in lines:
        assert line.spans
        assert line.end is not None
        assert all(span.end is not None and span.end <= line.end for span in line.spans)
        assert all(span.file == "assignment4.py" and span.line > 0 for span in line.spans)


def test_a_wrong_order_of_shards_is_drawn_where_it_is_wrong(tmp_path: Path) -> None:
    report = grade("wrong/column_parallel_shard_order", tmp_path, only=("column_parallel",), hidden=0)
    drawn = case_of(report, "column_parallel", "baseline").differences
    assert [one.rank for one in drawn] == [0, 1, 2, 3]
    assert {one.shape for one in drawn} == {(64, 32)}
    assert max(value or 0 for row in drawn[0].grid for value in row) > 0.1


def test_a_deadlock_is_drawn_as_operations_without_an_end(tmp_path: Path) -> None:
    report = grade("wrong/send_recv_order", tmp_path, only=("pipeline",), hidden=0)
    lines = case_of(report, "pipeline", "baseline").timeline
    assert any(span.end is None for line in lines for span in line.spans)
    assert any(line.end is None for line in lines)


def test_a_finding_quotes_the_line_that_it_names(tmp_path: Path) -> None:
    report = grade("wrong/data_parallel_exception", tmp_path, only=("data_parallel",), hidden=0)
    (finding,) = exercise(report, "data_parallel").findings[:1]
    quoted = dict(finding.source)
    assert finding.line in quoted
    assert len(quoted) == 5
