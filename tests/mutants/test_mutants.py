"""A sample of the mutation run: `make mutants` has all of it."""

from __future__ import annotations

import pytest

from tests.mutants.bench import Bench, reference_mutants
from tests.mutants.outcome import Outcome, details, load_equivalent, stale

EVERY = 10

MUTANTS = reference_mutants()


def test_there_are_enough_mutants_and_each_is_another() -> None:
    assert len(MUTANTS) >= 150
    assert len({mutant.source for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)


def test_the_mutants_are_always_the_same() -> None:
    assert reference_mutants() == MUTANTS


def test_every_mutant_that_is_listed_as_equivalent_exists() -> None:
    assert stale(load_equivalent(), MUTANTS) == []


@pytest.mark.sandbox
@pytest.mark.slow
def test_no_mutant_of_a_sample_keeps_full_marks_without_a_reason() -> None:
    with Bench() as bench:
        outcome = Outcome(list(bench.grade(MUTANTS[::EVERY])), load_equivalent())
    assert outcome.good, details(outcome)
