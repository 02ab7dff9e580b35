"""Who waited where for whom, from hand-made logs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercises.contract import Case
from grader.job import Job, JobResult, RankEnd
from grader.judge.deadlock import explain_communication
from grader.judge.findings import Finding

Log = list[dict[str, Any]]


def operation(name: str, line: int, **more: Any) -> dict[str, Any]:
    return {"number": 1, "name": name, "file": "tiny.py", "line": line, **more}


def explain(
    logs: list[Log], waits: dict[int, dict[str, Any]] | None = None, values_wrong: bool = False
) -> Finding | None:
    case = Case("data_parallel", "baseline", 7, len(logs))
    ends = tuple(
        RankEnd(r, True, not (waits or {}).get(r), 0, "", (waits or {}).get(r)) for r in range(len(logs))
    )
    files = {
        f"case0-rank{rank}.operations": b"".join(json.dumps(line).encode() + b"\n" for line in log)
        for rank, log in enumerate(logs)
    }
    ended = "deadlock" if waits else "finished"
    result = JobResult(Job("run", len(logs), (case,)), ended, "", ends, files)
    return explain_communication(case, 0, result, values_wrong)


def test_ranks_that_met_in_different_collectives_are_named_with_their_lines() -> None:
    reduce, broadcast = operation("all_reduce", 12, op="SUM"), operation("broadcast", 14, src=0)
    found = explain([[reduce], [broadcast], [broadcast]], {0: reduce, 1: broadcast, 2: broadcast})
    assert found is not None
    assert (found.code, found.file, found.line) == ("collective-mismatch", "tiny.py", 12)
    assert "rank 0 is in all_reduce at line 12" in found.message
    assert "ranks 1 and 2 are in broadcast(src=0) at line 14" in found.message


@pytest.mark.parametrize("change", [{"shape": [8]}, {"dtype": "torch.float64"}])
def test_collectives_of_another_shape_or_dtype_do_not_fit_together(change: dict[str, Any]) -> None:
    usual = operation("all_reduce", 12, shape=[4, 4], dtype="torch.float32")
    found = explain([[usual], [usual], [usual | change]])
    assert found is not None
    assert found.code == "collective-mismatch"
    assert "do not fit together" in found.message


def test_tensors_that_do_not_fit_are_seen_before_every_rank_has_come() -> None:
    # gloo may end a rank at once, and with it the job.
    usual = operation("all_reduce", 12, shape=[4, 4], dtype="torch.float32")
    found = explain([[usual], [usual | {"shape": [2, 4]}], []])
    assert found is not None
    assert (found.code, found.ranks) == ("collective-mismatch", (0, 1, 2))


def test_a_rank_that_had_finished_never_arrived_where_the_others_wait() -> None:
    reduce = operation("all_reduce", 12)
    found = explain([[reduce], [], [reduce]], {0: reduce, 2: reduce})
    assert found is not None
    assert (found.code, found.ranks, found.line) == ("rank-never-arrived", (0, 2), 12)
    assert "Rank 1 had finished" in found.message


def test_a_rank_that_waits_in_a_later_case_has_finished_with_this_one() -> None:
    reduce = operation("all_reduce", 12)
    case = Case("data_parallel", "baseline", 7, 2)
    ends = (RankEnd(0, True, False, 0, "", reduce), RankEnd(1, True, False, 1, "", operation("barrier", 0)))
    files = {"case0-rank0.operations": json.dumps(reduce).encode()}
    found = explain_communication(
        case, 0, JobResult(Job("run", 2, (case, case)), "deadlock", "", ends, files), False
    )
    assert found is not None
    assert (found.code, found.ranks, found.line) == ("rank-never-arrived", (0,), 12)
    assert "Rank 1 had finished" in found.message


def test_two_ranks_that_both_send_first_wait_for_each_other() -> None:
    to_one, to_zero = operation("send", 20, dst=1), operation("send", 22, dst=0)
    found = explain([[to_one], [to_zero]], {0: to_one, 1: to_zero})
    assert found is not None
    assert found.code == "send-recv-order"
    assert (
        "Rank 0 waits in send to rank 1 at line 20, rank 1 waits in send to rank 0 at line 22"
        in found.message
    )


def test_a_receive_from_a_rank_that_had_finished_waits_for_ever() -> None:
    receive = operation("recv", 9, src=0)
    found = explain([[], [receive]], {1: receive})
    assert found is not None
    assert found.code == "rank-never-arrived"


def test_a_collective_waits_for_a_rank_that_waits_in_a_receive() -> None:
    reduce, receive = operation("all_reduce", 5), operation("recv", 9, src=0)
    found = explain([[reduce], [receive]], {0: reduce, 1: receive})
    assert found is not None
    assert found.code == "rank-never-arrived"
    assert "Rank 1 is not there" in found.message


def test_collectives_in_different_groups_are_a_deadlock_of_no_other_name() -> None:
    here, there = operation("all_reduce", 5, subgroup=True), operation("all_reduce", 7, subgroup=True)
    found = explain([[here], [there]], {0: here, 1: there})
    assert found is not None
    assert found.code == "deadlock"


def test_a_message_to_a_rank_that_does_not_exist_is_named_however_the_job_ended() -> None:
    beyond = operation("send", 20, dst=2)
    for waits in (None, {1: beyond}):
        found = explain([[], [beyond]], waits)
        assert found is not None
        assert (found.code, found.ranks, found.line) == ("rank-never-arrived", (1,), 20)
        assert "There is no rank 2: the ranks are 0 to 1" in found.message


@pytest.mark.parametrize("change", [{"shape": [40, 4]}, {"dtype": "torch.int32"}])
def test_a_message_and_its_buffer_must_agree(change: dict[str, Any]) -> None:
    sent = operation("send", 20, dst=1, shape=[32, 4], dtype="torch.float32")
    taken = operation("recv", 30, src=0, shape=[32, 4], dtype="torch.float32")
    assert explain([[sent], [taken]], values_wrong=True) is None
    found = explain([[sent], [taken | change]], values_wrong=True)
    assert found is not None
    assert (found.code, found.ranks, found.line) == ("message-mismatch", (0, 1), 30)


def test_collectives_of_one_shape_that_cross_are_seen_by_their_lines_when_the_values_are_wrong() -> None:
    first, second = operation("all_reduce", 5), operation("all_reduce", 7)
    crossed = [[first, second], [second, first]]
    assert explain(crossed) is None
    found = explain(crossed, values_wrong=True)
    assert found is not None
    assert found.code == "collective-mismatch"
    assert "another order" in found.message


def test_ranks_that_call_the_same_from_other_lines_are_no_mismatch() -> None:
    assert (
        explain([[operation("broadcast", 5, src=0)], [operation("broadcast", 7, src=0)]], values_wrong=True)
        is None
    )


def test_a_rank_that_stopped_early_is_no_mismatch() -> None:
    reduce = operation("all_reduce", 5)
    assert explain([[reduce, reduce], [reduce]], values_wrong=True) is None


@pytest.mark.fuzz
@given(st.lists(st.binary(max_size=200), min_size=2, max_size=4))
def test_a_forged_log_never_raises(logs: list[bytes]) -> None:
    case = Case("data_parallel", "baseline", 7, len(logs))
    ends = tuple(RankEnd(rank, True, False, 0, "", {"name": rank}) for rank in range(len(logs)))
    files = {f"case0-rank{rank}.operations": log for rank, log in enumerate(logs)}
    for ended in ("deadlock", "finished"):
        result = JobResult(Job("run", len(logs), (case,)), ended, "", ends, files)
        explain_communication(case, 0, result, True)
