"""When ranks communicated, from hand-made logs."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.exercises.contract import Case
from grader.job import Job, JobResult
from grader.judge.timeline import Timeline, timelines


def made(*logs: list[Any]) -> tuple[Timeline, ...]:
    files = {
        f"case0-rank{rank}.operations": b"\n".join(json.dumps(line).encode() for line in log)
        for rank, log in enumerate(logs)
    }
    case = Case("data_parallel", "baseline", 7, len(logs))
    return timelines(JobResult(Job("run", len(logs), (case,)), "finished", "", (), files), 0)


def operation(number: int, at: float, **more: Any) -> dict[str, Any]:
    return {"number": number, "name": "all_reduce", "file": "tiny.py", "line": 12, "at": at, **more}


def test_times_are_those_since_the_first_rank_began() -> None:
    early = [{"began": 50.0}, operation(1, 51.0), {"done": 1, "at": 53.5}, {"ended": 54.0}]
    late = [{"began": 52.0}, operation(1, 53.0), {"done": 1, "at": 53.5}, {"ended": 54.5}]
    first, second = made(early, late)
    assert (first.begin, first.end, second.begin, second.end) == (0.0, 4.0, 2.0, 4.5)
    assert [(span.begin, span.end) for span in (*first.spans, *second.spans)] == [(1.0, 3.5), (3.0, 3.5)]


def test_an_operation_that_did_not_return_has_no_end_and_neither_has_its_rank() -> None:
    (line,) = made([{"began": 1.0}, operation(1, 2.0)])
    assert line.end is None
    assert [span.end for span in line.spans] == [None]


def test_what_was_issued_lasts_until_it_was_waited_for() -> None:
    issued = [{"began": 0.0}, operation(1, 1.0, name="isend", dst=1), {"done": 1, "at": 1.1}]
    (hung,) = made([*issued, {"awaited": 1, "at": 3.0}])
    (over,) = made([*issued, {"awaited": 1, "at": 3.0}, {"done": 1, "at": 4.0}])
    assert [(span.end, span.peer) for span in (*hung.spans, *over.spans)] == [(None, 1), (4.0, 1)]


def test_the_bytes_are_those_of_the_tensor() -> None:
    tensor = {"shape": [64, 32], "dtype": "torch.float64"}
    (line,) = made([{"began": 0.0}, operation(1, 1.0, **tensor), operation(2, 1.0)])
    assert [span.bytes for span in line.spans] == [64 * 32 * 8, 0]


def test_of_many_operations_the_last_are_kept_and_those_that_never_ended() -> None:
    many: list[Any] = [{"began": 0.0}, operation(1, 0.5, shape=[2], dtype="torch.float32")]
    for number in range(2, 302):
        many += [operation(number, float(number)), {"done": number, "at": number + 0.5}]
    (line,) = made(many)
    assert (len(line.spans), line.left_out, line.bytes) == (201, 100, 8)
    assert [span.end for span in line.spans].count(None) == 1
    assert line.spans[-1].begin == 301.0


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
lines = st.dictionaries(
    st.sampled_from(["began", "ended", "at", "done", "awaited", "number", "name", "shape", "dtype"]), values
)


@given(st.lists(st.lists(values | lines, max_size=6), min_size=1, max_size=3))
def test_whatever_ranks_leave_the_times_are_finite_and_in_order(logs: list[list[Any]]) -> None:
    for line in made(*([{"began": 1.0}, operation(1, 2.0), *log] for log in logs)):
        for part in (line, *line.spans):
            assert 0 <= part.begin < math.inf
            assert part.end is None or part.begin <= part.end < math.inf
