from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.cases import cases_for, hidden_seed, jobs_for
from grader.exercises.assignment4 import LAB
from grader.options import Options
from grader.rubric import load_rubric
from grader.trusted import _jobs
from tests.grading import COURSE

RUBRIC = load_rubric(Path(__file__).parents[1] / "reference" / "rubric.toml")
DRIVEN = [exercise for exercise in LAB.exercises if not exercise.whole_file]


@pytest.mark.parametrize("exercise", DRIVEN, ids=lambda exercise: exercise.name)
def test_an_exercise_is_asked_the_baseline_and_then_every_hidden_case(exercise):
    cases = cases_for(RUBRIC, LAB, exercise, master_seed=7)
    baseline, *hidden = (case for case in cases if case.check in ("baseline", "hidden"))
    assert (baseline.check, baseline.seed, baseline.world_size) == ("baseline", LAB.seed, 4)
    assert baseline.sizes == LAB.sizes
    assert baseline.arguments == exercise.arguments
    assert [case.check for case in hidden] == ["hidden"] * 3
    assert [case.world_size for case in hidden] == [1, 2, 4]
    for case, entry in zip(hidden, RUBRIC.hidden, strict=True):
        assert case.sizes == entry.sizes
        assert case.arguments == {name: entry.arguments[name] for name in exercise.arguments}


def test_only_the_exercises_that_take_an_argument_are_given_it():
    given_names = {e.name: set(cases_for(RUBRIC, LAB, e, 1)[-1].arguments) for e in DRIVEN}
    assert given_names["grad_accumulation"] == {"accumulation_steps"}
    assert given_names["pipeline"] == {"num_micro_batches"}
    assert given_names["data_parallel"] == set()


def test_the_whole_file_is_run_once_at_the_handouts_sizes_on_four_ranks():
    (case,) = cases_for(RUBRIC, LAB, LAB["script"], master_seed=7)
    assert (case.check, case.seed, case.world_size, case.sizes) == ("script", LAB.seed, 4, LAB.sizes)


def test_every_exercise_is_asked_the_same_hidden_seeds_and_another_master_seed_gives_others():
    def seeds(master_seed):
        return {tuple(c.seed for c in asked(e, master_seed) if c.check == "hidden") for e in DRIVEN}

    def asked(exercise, master_seed):
        return cases_for(RUBRIC, LAB, exercise, master_seed)

    assert len(seeds(7)) == 1
    assert seeds(7) == seeds(7) != seeds(8)


def test_the_seeds_of_recorded_grades_stay_what_they_were():
    assert [hidden_seed(7, index) for index in range(3)] == [1345348218, 1022014181, 731993179]


@given(st.integers(), st.integers(0, 100))
def test_a_hidden_seed_is_one_that_any_generator_takes(master_seed, index):
    assert 1 <= hidden_seed(master_seed, index) <= 2**31 - 1


def test_a_check_without_an_entry_in_the_rubric_is_not_made():
    points = {"points": {"baseline": 1.0}}
    rubric = RUBRIC.model_copy(
        update={"exercises": {"pipeline": type(RUBRIC.exercises["pipeline"])(**points)}}
    )
    assert [case.check for case in cases_for(rubric, LAB, LAB["pipeline"], 1)] == ["baseline"]


@pytest.mark.parametrize("name", ["column_parallel", "row_parallel"])
def test_the_input_gradient_is_asked_at_the_handouts_sizes_and_on_another_number_of_ranks(name):
    usual, other = (c for c in cases_for(RUBRIC, LAB, LAB[name], 7) if c.check == "input_gradient")
    assert (usual.seed, usual.world_size, usual.sizes) == (LAB.seed, 4, LAB.sizes)
    assert (other.seed, other.world_size, other.sizes) == (hidden_seed(7, 1), 2, RUBRIC.hidden[1].sizes)


def test_the_input_gradient_is_asked_once_where_no_hidden_case_has_another_number_of_ranks():
    rubric = RUBRIC.model_copy(update={"hidden": (RUBRIC.hidden[0], RUBRIC.hidden[2])})
    cases = cases_for(rubric, LAB, LAB["row_parallel"], 7)
    assert [c.world_size for c in cases if c.check == "input_gradient"] == [4]


def test_a_share_of_the_data_is_asked_at_the_handouts_sizes_and_only_where_the_rubric_says_so():
    points = type(RUBRIC.exercises["pipeline"])(points={"baseline": 1.0, "own_share": 2.0})
    rubric = RUBRIC.model_copy(update={"exercises": {"pipeline": points}})
    baseline, own_share = cases_for(rubric, LAB, LAB["pipeline"], 7)
    assert (own_share.check, own_share.world_size, own_share.sizes) == ("own_share", 4, baseline.sizes)


def test_cases_of_one_world_size_share_a_job():
    cases = [case for name in ("pipeline", "row_parallel") for case in cases_for(RUBRIC, LAB, LAB[name], 1)]
    jobs = jobs_for(cases)
    assert [(job.exercises, job.world_size, len(job.cases)) for job in jobs] == [
        (("pipeline", "row_parallel"), 4, 7),
        (("pipeline", "row_parallel"), 1, 2),
        (("pipeline", "row_parallel"), 2, 3),
    ]
    assert sorted(map(str, cases)) == sorted(str(case) for job in jobs for case in job.cases)
    assert len({job.run_id for job in (*jobs, *jobs_for(cases))}) == 2 * len(jobs)
    assert all(len(job.run_id) == 16 for job in jobs)


def test_the_handouts_cases_come_before_hidden_ones_and_the_whole_file_last():
    jobs = _jobs(COURSE, RUBRIC, LAB, Options(seed=7))
    assert {case.check for job in jobs for case in job.cases} >= {"script", "baseline", "hidden"}
    for job in jobs:
        places = [(LAB[case.exercise].whole_file, case.seed != LAB.seed) for case in job.cases]
        assert places == sorted(places)
