"""Whatever a record of a hostile rank brings into a report, there is a page of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.report.gradebook import Row
from grader.report.html import render_html
from grader.report.index import render_index
from grader.report.schema import (
    CaseRow,
    DifferenceRow,
    FindingRow,
    SpanRow,
    TheoryRow,
    TimelineRow,
    WorkRow,
)
from tests.report import examples
from tests.report.test_html import Elements

pytestmark = pytest.mark.fuzz

RANKS = st.integers(0, 5)
TEXT = st.text(st.characters(), max_size=12)
LINES = st.integers(0, 10**9)
NATURAL = st.one_of(st.integers(0, 99), st.integers(0, 10**400))
SECONDS = st.floats(0, allow_infinity=False, allow_nan=False)
NAMES = st.one_of(st.sampled_from(("send", "irecv", "all_reduce", "barrier")), TEXT)

SPANS = st.builds(
    SpanRow,
    name=NAMES,
    begin=SECONDS,
    end=st.none() | SECONDS,
    peer=st.none() | RANKS,
    bytes=NATURAL,
    file=TEXT,
    line=LINES,
)
TIMELINES = st.builds(
    TimelineRow,
    rank=RANKS,
    begin=SECONDS,
    end=st.none() | SECONDS,
    spans=st.lists(SPANS, max_size=6),
    left_out=st.integers(0, 10**9),
)
GRIDS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.none() | SECONDS, min_size=width, max_size=width), max_size=4
    )
)  # fmt: skip
DIFFERENCES = st.builds(
    DifferenceRow, rank=RANKS, name=TEXT, shape=st.lists(st.integers(0, 10**6), max_size=3), grid=GRIDS
)
WORK = st.builds(
    WorkRow,
    rank=RANKS,
    flops=NATURAL,
    gradient_rows=st.just(()),
    collectives=st.lists(st.tuples(TEXT, st.lists(NATURAL, max_size=2)), max_size=2),
)
CASES = st.builds(
    CaseRow,
    seed=NATURAL,
    world_size=st.integers(1, 6),
    sizes=st.dictionaries(TEXT, st.integers(), max_size=2),
    status=st.sampled_from(("passed", "failed", "error")),
    detail=TEXT,
    ranks=st.lists(st.builds(examples.rank_row, RANKS, st.just("failed"), st.none() | SECONDS), max_size=3),
    work=st.lists(WORK, max_size=3),
    theory=st.lists(st.builds(TheoryRow, rank=RANKS, flops=NATURAL, bytes=NATURAL), max_size=3),
    differences=st.lists(DIFFERENCES, max_size=4),
    timeline=st.lists(TIMELINES, max_size=4),
)
FINDINGS = st.builds(
    FindingRow,
    code=TEXT,
    message=st.text(st.sampled_from("a`. A\n"), max_size=12) | TEXT,
    check=TEXT,
    ranks=st.lists(RANKS, max_size=2),
    file=st.none() | TEXT,
    line=st.none() | LINES,
    source=st.lists(st.tuples(LINES, TEXT), max_size=2),
)


@given(st.lists(CASES, min_size=1, max_size=2), st.lists(FINDINGS, max_size=2))
@settings(max_examples=60)
def test_a_report_of_anything_has_a_page(cases: list[CaseRow], findings: list[FindingRow]) -> None:
    part = examples.exercise("single_step", findings=tuple(findings))
    check = part.checks[0].model_copy(update={"cases": tuple(cases), "status": "failed"})
    part = part.model_copy(update={"checks": (check,), "status": "failed"})
    report = examples.right().model_copy(update={"exercises": (part,)})
    text = render_html(report)
    assert Elements(text).open == []
    assert not re.search(r'[="\s,(]-?(nan|inf)[",)\s]', text)
    text.encode()


@given(TEXT, TEXT, st.none() | st.floats(0, 1e6), st.floats(0, 1e6), TEXT)
@settings(max_examples=60)
def test_a_class_of_anybody_has_a_page(
    student: str, status: str, score: float | None, most: float, path: str
) -> None:
    row = Row(student, status, score, most, report=path, codes=frozenset({(student, status)}))
    for of_status in (status, "passed"):
        text = render_index([Row(**{**vars(row), "status": of_status})], (student,), student)
        assert Elements(text).open == []
        text.encode()
