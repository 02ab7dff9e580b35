"""A rank that came back with nothing: one finding for the cause, none for its consequences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.job import RankEnd
from tests.judge.made import (
    after,
    case_of,
    codes,
    everywhere,
    files_of,
    judge,
    judge_ranks,
    raised,
    record,
    result_of,
)

CASE = case_of("data_parallel")
PEER = "[../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:3"


def right(*ranks):
    return {rank: {"weight": after(CASE)} for rank in ranks}


def test_a_todo_on_every_rank_is_one_finding_with_its_line():
    left = {
        rank: raised(CASE, rank, "NotImplementedError", "TODO (1 line): draw", line=61) for rank in range(4)
    }
    (finding,) = judge_ranks(CASE, left, ended="died").findings
    assert (finding.code, finding.ranks, finding.file, finding.line) == (
        "todo-left",
        (0, 1, 2, 3),
        "tiny.py",
        61,
    )
    assert "TODO (1 line): draw" in finding.message


def test_a_not_implemented_error_of_the_students_own_is_an_exception():
    assert codes(judge_ranks(CASE, {0: raised(CASE, 0, "NotImplementedError", "later")})) == ["exception"]


@pytest.mark.parametrize(
    ("type", "stage", "code"),
    [
        ("SyntaxError", "load", "syntax-error"),
        ("IndentationError", "load", "syntax-error"),
        ("SyntaxError", "call", "exception"),
        ("ModuleNotFoundError", "load", "import-error"),
        ("ImportError", "call", "import-error"),
        ("SystemExit", "call", "early-exit"),
        ("NameError", "load", "exception"),
        ("torch.distributed.DistBackendError", "call", "exception"),
    ],
)
def test_an_exception_gets_the_code_of_its_kind(type, stage, code):
    left = {rank: raised(CASE, rank, type, "why", stage=stage, line=9) for rank in range(4)}
    (finding,) = judge_ranks(CASE, left).findings
    assert (finding.code, finding.line, finding.ranks) == (code, 9, (0, 1, 2, 3))
    assert type.rsplit(".", 1)[-1] in finding.message or code == "early-exit"


@pytest.mark.parametrize(
    "message",
    [
        PEER,
        "Connection reset by peer",
        "Broken pipe",
        "... This may indicate a remote worker crashing",
        "Socket Timeout",
    ],
)
def test_a_peer_that_lost_its_connection_is_not_blamed(message):
    left = {rank: raised(CASE, rank, "RuntimeError", message, line=50) for rank in (0, 2, 3)}
    left[1] = raised(CASE, 1, "ValueError", "my own", line=33)
    (finding,) = judge_ranks(CASE, left, ended="died").findings
    assert (finding.code, finding.ranks, finding.line) == ("exception", (1,), 33)


def test_a_lost_connection_is_told_when_nobody_else_says_why():
    left = right(1) | {rank: raised(CASE, rank, "RuntimeError", PEER, line=50) for rank in (0, 2, 3)}
    (finding,) = judge_ranks(CASE, left, ended="died").findings
    assert (finding.code, finding.ranks) == ("exception", (0, 2, 3))
    assert "another rank" in finding.message


def test_an_ordinary_runtime_error_is_the_ranks_own():
    left = {0: raised(CASE, 0, "RuntimeError", "mat1 and mat2 shapes cannot be multiplied", line=12)}
    (finding,) = judge_ranks(CASE, left, ended="died").findings
    assert "mat1 and mat2" in finding.message


def test_two_own_exceptions_in_two_places_are_two_causes():
    left = {rank: raised(CASE, rank, "ValueError", "v", line=10 + (rank == 3)) for rank in range(4)}
    assert [finding.ranks for finding in judge_ranks(CASE, left).findings] == [(0, 1, 2), (3,)]


def test_a_function_that_is_missing_is_named():
    left = {r: record(CASE, r, {}, outcome="missing", message="tiny.py does not define f.") for r in range(4)}
    (finding,) = judge_ranks(CASE, left).findings
    assert (finding.code, finding.ranks) == ("function-missing", (0, 1, 2, 3))
    assert finding.message.startswith("tiny.py does not define f.")


def test_a_value_of_another_type_is_told_in_the_exercises_words():
    left = {r: record(CASE, r, {}, outcome="wrong-type", message="f must return a weight.") for r in range(4)}
    (finding,) = judge_ranks(CASE, left).findings
    assert (finding.code, finding.message) == ("wrong-type", "f must return a weight.")


def test_a_rank_that_left_is_an_early_exit_and_its_peers_are_not_blamed():
    left = {rank: raised(CASE, rank, "RuntimeError", PEER) for rank in (0, 2, 3)}
    (finding,) = judge_ranks(CASE, left, ended="died", gone=(1,)).findings
    assert (finding.code, finding.ranks) == ("early-exit", (1,))


def test_a_rank_that_a_signal_ended_was_killed():
    verdict = judge_ranks(CASE, right(0, 1, 2), ended="died", gone=(3,), detail="rank 3 was ended by SIGABRT")
    assert codes(verdict) == ["killed"]
    assert "SIGABRT" in verdict.findings[0].message


@pytest.mark.parametrize("ended", ["memory-limit", "output-limit", "process-limit"])
def test_an_exception_just_before_the_run_used_up_what_it_may_is_its_consequence(ended):
    left = {2: raised(CASE, 2, "RuntimeError", "can't start new thread"), **right(0, 1, 3)}
    (finding,) = judge_ranks(CASE, left, ended=ended, detail="256 processes").findings
    assert (finding.code, finding.ranks) == (ended, (2,))
    assert "256 processes" in finding.message


@pytest.mark.parametrize("ended", ["time-limit", "memory-limit", "output-limit", "process-limit"])
def test_a_limit_is_named_with_its_value_and_the_ranks_that_had_not_come_back(ended):
    (finding,) = judge_ranks(CASE, right(0), ended=ended, gone=(1, 2, 3), detail="20 s").findings
    assert (finding.code, finding.ranks) == (ended, (1, 2, 3))
    assert "(20 s)" in finding.message


def test_ranks_that_waited_for_one_that_failed_are_not_blamed_for_the_time():
    left = {1: raised(CASE, 1, "KeyError", "k")}
    assert codes(judge_ranks(CASE, left, ended="time-limit", gone=(0, 2, 3))) == ["exception"]


def test_a_case_that_was_never_begun_says_so():
    result = result_of(CASE, {}, ended="died")
    ends = tuple(RankEnd(rank, True, False, -1) for rank in range(4))
    (finding,) = judge(CASE, replace(result, ranks=ends)).findings
    assert (finding.code, finding.ranks) == ("rank-missing", (0, 1, 2, 3))
    assert "never began" in finding.message


def test_nothing_known_of_the_ranks_at_all_is_still_a_failure_with_a_finding():
    for ended in ("finished", "died", "time-limit", "something new"):
        verdict = judge(CASE, replace(result_of(CASE, {}, ended=ended), ranks=()))
        assert verdict.status == "failed"
        assert verdict.findings


def test_right_values_beside_a_failed_rank_are_rows_that_passed():
    files = files_of(CASE, {**everywhere(CASE, after(CASE)), 2: raised(CASE, 2, "ValueError")})
    assert [rank.status for rank in judge(CASE, result_of(CASE, files)).ranks] == [
        "passed",
        "passed",
        "failed",
        "passed",
    ]
