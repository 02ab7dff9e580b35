"""A sample of the mutation run: `make mutants` has all of it."""

from __future__ import annotations

import pytest

from grader.exercises.assignment4 import LAB
from tests.mutants.bench import REFERENCE, Bench, reference_mutants
from tests.mutants.make import Mutant, without_checks
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
def test_what_the_mutants_are_made_of_keeps_full_marks() -> None:
    source = without_checks(REFERENCE.read_text(encoding="utf-8"))
    names = tuple(exercise.name for exercise in LAB.exercises if not exercise.whole_file)
    with Bench(workers=1) as bench:
        (graded,) = bench.grade([Mutant("unchanged", "", 1, "", "", source, names)])
    assert (graded.lost, graded.codes, graded.errors) == ((), (), ())


@pytest.mark.sandbox
@pytest.mark.slow
def test_no_mutant_of_a_sample_keeps_full_marks_without_a_reason() -> None:
    with Bench() as bench:
        outcome = Outcome(list(bench.grade(MUTANTS[::EVERY])), load_equivalent())
    assert outcome.good, details(outcome)
