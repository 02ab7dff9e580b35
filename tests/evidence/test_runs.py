"""What runs say, however the ranks' writes are mixed, cut off or dressed up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge.text import clean_line
from tests.evidence.made import (
    ORDINARY_ERR,
    claims,
    compared,
    interleaved,
    log_of,
    printed_by,
    read,
    right,
    writes_of,
)

WRITES = {size: [writes_of(printed_by(rank, size)) for rank in range(size)] for size in (1, 2, 4)}


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[int]]:
    """A world size and an order of the ranks' writes."""
    size = draw(st.sampled_from(sorted(WRITES)))
    return size, draw(st.permutations([rank for rank in range(size) for _ in WRITES[size][rank]]))


@given(run=runs())
@settings(deadline=None)
def test_a_right_run_is_whole_and_fits_the_code_in_whatever_order_its_ranks_write(run):
    size, order = run
    evidence = read(interleaved(WRITES[size], order), ORDINARY_ERR)
    assert (evidence.world_size, evidence.complete, evidence.consistent) == (size, True, True)
    assert claims(evidence) == right(size)
    assert not any("trouble" in fact for fact in evidence.facts)


@given(run=runs(), part=st.floats(0, 1, exclude_max=True))
@settings(deadline=None)
def test_a_run_that_was_cut_off_is_not_whole_and_claims_no_more_than_it_says(run, part):
    size, order = run
    last_text = max(i for i, rank in enumerate(order) if order[: i + 1].count(rank) % 2)  # then a newline
    text = interleaved(WRITES[size], order[: int(part * last_text)])
    evidence = read(text)
    assert evidence.complete is False
    said = [rank for _, (match, not_match) in claims(evidence).items() for rank in (*match, *not_match)]
    assert len(said) <= text.count("Tensors match:")
    assert evidence.consistent is not False


@pytest.mark.parametrize("size", [1, 2, 8, 16])
def test_any_number_of_ranks_is_taken_as_it_is(size):
    evidence = read(log_of(size))
    assert (evidence.world_size, evidence.complete) == (size, True)
    assert claims(evidence) == right(size)


def test_the_handouts_own_init_line_gives_no_world_size_so_the_ranks_are_counted():
    text = log_of(4)
    for rank in range(4):
        ours = f"Rank {rank} of 4 is on node 0, on the CPU."
        text = text.replace(ours, f"Rank {rank} initialized on 0 on GPU {rank}.")
    evidence = read(text.replace("All ranks are here.", "All ranks ready!"))
    assert (evidence.world_size, evidence.complete, evidence.consistent) == (4, True, True)


@pytest.mark.parametrize("mark", ["{0}: ", "[default{0}]:", "\x1b[32m", "\x1b]0;title\x07"])
def test_what_launchers_and_terminals_put_before_a_line_changes_nothing(mark):
    lines = [mark.format(rank) + line + "\r" for rank in range(4) for line in printed_by(rank, 4)]
    evidence = read("\n".join(lines))
    assert (evidence.complete, evidence.consistent, claims(evidence)) == (True, True, right(4))


def test_a_rank_and_a_part_that_are_missing_are_named():
    evidence = read(log_of().replace(compared(2, "DataParallel"), "").replace("[Pipeline]", "[Other]"))
    assert evidence.complete is False
    assert "The log has no comparison of part 4." in evidence.facts
    assert "The log has no comparison of part 3 on rank 2." in evidence.facts


def test_a_rank_without_the_last_line_has_not_finished():
    evidence = read(log_of().replace("[Rank 3] done", ""))
    assert evidence.complete is False
    assert 'The last line ("done") is missing on rank 3.' in evidence.facts


def test_a_mismatch_is_a_fact_and_the_log_still_whole():
    evidence = read(log_of().replace(compared(1, "DataParallel"), compared(1, "DataParallel", match=False)))
    assert (evidence.complete, evidence.consistent) == (True, True)
    assert claims(evidence)["data_parallel"] == ((0, 2, 3), (1,))
    assert 'The log says "Tensors match: False" of part 3 on rank 1; it should be True.' in evidence.facts


def test_the_first_comparison_should_not_match():
    evidence = read(log_of().replace(compared(0, match=False), compared(0), 1))
    assert 'The log says "Tensors match: True" of part 1 on rank 0; it should be False.' in evidence.facts


def test_one_layer_that_does_not_match_is_enough():
    text = log_of().replace(compared(3, "Pipeline"), compared(3, "Pipeline", match=False), 1)
    assert claims(read(text))["pipeline"] == ((0, 1, 2), (3,))


def test_of_several_runs_the_last_whole_one_is_told_of():
    half = log_of(2).split("[DataParallel]")[0]
    evidence = read(half, log_of(4), half, names=["1.log", "2.log", "3.log"])
    assert (evidence.world_size, evidence.complete) == (4, True)
    assert "They hold 3 runs; this is about one of them." in evidence.facts


def test_a_file_for_each_rank_is_one_run():
    texts = ["\n".join(printed_by(rank, 4)) for rank in range(4)]
    evidence = read(*texts, names=[f"{rank}/stdout.log" for rank in range(4)])
    assert (evidence.world_size, evidence.complete) == (4, True)


def test_numbers_that_are_no_ranks_make_no_world():
    text = "[Distributed Init] Rank 0 of 9999 is on node 0\n" + compared(99999999, "DataParallel")
    evidence = read(text)
    assert evidence.world_size is None and evidence.claims == ()


@pytest.mark.parametrize(("name", "complete"), [("run.log", False), ("README.txt", None)])
def test_a_text_with_nothing_of_a_run_is_an_incomplete_log_or_just_a_text(name, complete):
    evidence = read("Dear grader, it works on my machine.", names=[name])
    assert (evidence.complete, evidence.consistent) == (complete, None)
    assert evidence.facts == ("There is nothing in them that a run prints.",)


PIECES = st.sampled_from(
    ["[Rank 0] ", "[Rank 1]", " Tensors match: True", "[DataParallel]", "[Distributed Init] Rank 1 of 4 ",
     'File "assignment4.py", line 3, in x\n', "ValueError: x", "[rank0]: ", "\n", "\x1b[", "\0", "done"]
)  # fmt: skip


@given(text=st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join), code=st.text(max_size=60))
@settings(deadline=None)
def test_any_text_beside_any_code_gives_facts_that_can_be_shown(text, code):
    evidence = read(text, code=code)
    assert all(fact and clean_line(fact, 1000) == fact for fact in evidence.facts)
    assert all(clean_line(claim.part) == claim.part for claim in evidence.claims)
