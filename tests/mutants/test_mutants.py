"""A sample of the mutation run: `make mutants` has all of it."""

from __future__ import annotations

import pytest

from grader.exercises.assignment4 import LAB
from tests.mutants.bench import REFERENCE, Bench, reference_mutants
from tests.mutants.make import Mutant, make_mutants, without_checks
from tests.mutants.outcome import Outcome, details, load_equivalent, stale

EVERY = 10

SMALL = '''\
from utils import check
def data_parallel_single_step(seed, device):
    """Sum over the ranks."""
    check(total, (2,))
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return total / world_size
'''


def test_a_small_function_is_changed_in_every_way_that_is_known_for_its_lines() -> None:
    found = {mutant.id.removeprefix("data_parallel_single_step ") for mutant in make_mutants(SMALL)}
    assert {
        "deleted: dist.all_reduce(total, op=dist.ReduceOp.SUM) -> pass",
        "call-skipped: dist.all_reduce(total, op=dist.ReduceOp.SUM) -> total",
        "arithmetic: return total / world_size -> return total * world_size",
        "operand: return total / world_size -> return total",
        "value: return total / world_size -> return total / (world_size - 1)",
    } <= found


def test_the_mutants_are_always_the_same_and_none_twice() -> None:
    mutants = make_mutants(SMALL)
    assert make_mutants(SMALL) == mutants
    assert (
        len({mutant.source for mutant in mutants}) == len({mutant.id for mutant in mutants}) == len(mutants)
    )


def test_checks_and_docstrings_are_left_alone() -> None:
    assert all("check(total, (2,))" in mutant.source for mutant in make_mutants(SMALL))
    assert all("Sum over the ranks" in mutant.source for mutant in make_mutants(SMALL))


@pytest.mark.sandbox
@pytest.mark.slow
def test_what_the_mutants_are_made_of_keeps_full_marks() -> None:
    source = without_checks(REFERENCE.read_text(encoding="utf-8"))
    names = tuple(exercise.name for exercise in LAB.exercises if not exercise.whole_file)
    with Bench(workers=1) as bench:
        (graded,) = bench.grade([Mutant("unchanged", "", 1, "", "", source, names)])
    assert (graded.lost, graded.codes, graded.errors) == ((), (), ())


@pytest.mark.sandbox
@pytest.mark.slow
def test_no_mutant_of_a_sample_keeps_full_marks_without_a_reason() -> None:
    with Bench() as bench:  # its sandboxes start while the mutants are made
        mutants, equivalent = reference_mutants(), load_equivalent()
        assert len(mutants) >= 150
        assert stale(equivalent, mutants) == []
        outcome = Outcome(list(bench.grade(mutants[::EVERY])), equivalent)
    assert outcome.good, details(outcome)
