"""Which jobs are run for a submission, and which of their verdicts stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from grader.exercises.contract import Case
from grader.grading import Grading
from grader.job import Job, JobResult, RankEnd
from grader.judge.given import Given
from grader.judge.verdict import CaseVerdict
from grader.timings import Timings
from tests.judge.made import LAB, TOLERANCE, Tensors, after, baseline_of, before, record, save

Answer = Callable[[Job, int], Tensors | str]
"""What every rank of a job returns for case number i, or how the job ended."""


@dataclass
class Ranks:
    """Stands in for the sandbox: answers each job as the test says, and remembers what it was asked."""

    answer: Answer
    jobs: list[Job] = field(default_factory=list)

    def run(self, job: Job) -> JobResult:
        self.jobs.append(job)
        files: dict[str, bytes] = {}
        for index, case in enumerate(job.cases):
            returned = self.answer(job, index)
            if isinstance(returned, str):
                ends = tuple(RankEnd(rank, True, False, index) for rank in range(job.world_size))
                return JobResult(job, returned, "disk full", ranks=ends, files=files)
            for rank in range(job.world_size):
                said = record(case, rank, returned) | {"run": job.run_id, "case": index}
                files[f"case{index}-rank{rank}.json"] = json.dumps(said).encode()
                files[f"case{index}-rank{rank}.safetensors"] = save(returned)
        ends = tuple(RankEnd(rank, True, True, len(job.cases) - 1) for rank in range(job.world_size))
        return JobResult(job, "finished", ranks=ends, files=files)


def grade(cases: tuple[Case, ...], answer: Answer) -> tuple[list[CaseVerdict], Ranks]:
    ranks = Ranks(answer)
    grading = Grading(ranks, LAB, baseline_of(), Given(LAB, "1"), TOLERANCE, Timings())
    job = Job("run-1", 2, cases)
    return grading.grade([job], at_once=1), ranks


CASES = tuple(Case("data_parallel", "hidden", seed, 2) for seed in (3, 5, 8))


def right(case: Case) -> Tensors:
    return {"weight": after(case)}


def wrong(case: Case) -> Tensors:
    return {"weight": before(case) + 1}


def test_right_cases_share_one_job() -> None:
    verdicts, ranks = grade(CASES, lambda job, index: right(job.cases[index]))
    assert [verdict.status for verdict in verdicts] == ["passed"] * 3
    assert [job.cases for job in ranks.jobs] == [CASES]


def test_a_case_that_fails_behind_another_is_asked_again_alone() -> None:
    def spoilt_by_the_first(job: Job, index: int) -> Tensors:
        return right(job.cases[index]) if index == 0 else wrong(job.cases[index])

    verdicts, ranks = grade(CASES, spoilt_by_the_first)
    assert [verdict.status for verdict in verdicts] == ["passed"] * 3
    assert [job.cases for job in ranks.jobs] == [CASES, CASES[1:2], CASES[2:]]


def test_a_case_that_fails_in_a_fresh_process_has_failed() -> None:
    def second_seed_wrong(job: Job, index: int) -> Tensors:
        case = job.cases[index]
        return wrong(case) if case == CASES[1] else right(case)

    verdicts, ranks = grade(CASES, second_seed_wrong)
    assert [verdict.status for verdict in verdicts] == ["passed", "failed", "passed"]
    assert [job.cases for job in ranks.jobs] == [CASES, CASES[1:2]]


def test_the_first_case_of_a_job_of_one_exercise_has_its_verdict_whatever_comes_behind() -> None:
    verdicts, ranks = grade(
        CASES, lambda job, index: "deadlock" if job.cases[0] == CASES[0] else right(job.cases[index])
    )
    assert [verdict.status for verdict in verdicts] == ["failed", "passed", "passed"]
    assert [job.cases for job in ranks.jobs] == [CASES, CASES[1:2], CASES[2:]]


def test_every_attempt_has_a_run_id_of_its_own_so_that_no_artifact_serves_twice() -> None:
    _, ranks = grade(CASES, lambda job, index: wrong(job.cases[index]))
    assert len({job.run_id for job in ranks.jobs}) == len(ranks.jobs) == 3


def test_what_the_grader_could_not_carry_out_is_tried_once_more() -> None:
    asked: list[Job] = []

    def fails_once(job: Job, index: int) -> Tensors | str:
        asked.append(job)
        return "error" if len(asked) == 1 else right(job.cases[index])

    verdicts, _ = grade(CASES[:1], fails_once)
    assert [verdict.status for verdict in verdicts] == ["passed"]


def test_what_fails_twice_in_the_grader_is_an_error_and_no_verdict_on_the_student() -> None:
    verdicts, ranks = grade(CASES[:1], lambda job, index: "error")
    assert [verdict.status for verdict in verdicts] == ["error"]
    assert verdicts[0].findings == ()
    assert verdicts[0].detail == "disk full"
    assert len(ranks.jobs) == 2


def test_verdicts_come_in_the_order_of_the_cases() -> None:
    verdicts, _ = grade(CASES, lambda job, index: wrong(job.cases[index]))
    assert [verdict.case for verdict in verdicts] == list(CASES)
    assert all(replace(verdict.case, seed=0) == replace(CASES[0], seed=0) for verdict in verdicts)


MIXED = tuple(
    Case(exercise, "hidden", seed, 2) for exercise in ("data_parallel", "column_parallel") for seed in (3, 5)
)


def test_exercises_that_are_right_share_one_job() -> None:
    verdicts, ranks = grade(MIXED, lambda job, index: right(job.cases[index]))
    assert [verdict.status for verdict in verdicts] == ["passed"] * 4
    assert [job.cases for job in ranks.jobs] == [MIXED]


def test_what_does_not_pass_among_other_exercises_is_asked_again_alone() -> None:
    def spoilt_by_others(job: Job, index: int) -> Tensors:
        alone = len(job.exercises) == 1
        return right(job.cases[index]) if alone or index == 0 else wrong(job.cases[index])

    verdicts, ranks = grade(MIXED, spoilt_by_others)
    assert [verdict.status for verdict in verdicts] == ["passed"] * 4
    assert [job.cases for job in ranks.jobs] == [MIXED, MIXED[1:2], MIXED[2:3], MIXED[3:]]


def test_a_failure_among_other_exercises_is_no_verdict_even_in_the_first_case() -> None:
    verdicts, ranks = grade(
        MIXED, lambda job, index: right(job.cases[index]) if len(job.cases) < 4 else "time-limit"
    )
    assert [verdict.status for verdict in verdicts] == ["passed"] * 4
    assert [job.cases for job in ranks.jobs] == [MIXED, *((case,) for case in MIXED)]
    assert ranks.jobs[0].seconds < ranks.jobs[1].seconds


def test_behind_an_exercise_that_ends_the_job_the_others_go_on_together() -> None:
    names = ("data_parallel", "column_parallel", "row_parallel")
    cases = tuple(Case(name, "hidden", seed, 2) for name in names for seed in (3, 5))

    def hangs(job: Job, index: int) -> Tensors | str:
        case = job.cases[index]
        return "time-limit" if case == cases[1] else right(case)

    verdicts, ranks = grade(cases, hangs)
    assert [verdict.status for verdict in verdicts] == ["passed", "failed", *["passed"] * 4]
    assert [job.cases for job in ranks.jobs] == [cases, cases[2:], cases[1:2]]


def test_verdicts_of_several_exercises_come_in_the_order_of_the_cases() -> None:
    def second_exercise_wrong(job: Job, index: int) -> Tensors:
        case = job.cases[index]
        return wrong(case) if case.exercise == "column_parallel" else right(case)

    verdicts, _ = grade(MIXED[2:] + MIXED[:2], second_exercise_wrong)
    assert [(verdict.case, verdict.status) for verdict in verdicts] == [
        (MIXED[2], "failed"), (MIXED[3], "failed"), (MIXED[0], "passed"), (MIXED[1], "passed"),
    ]  # fmt: skip


def test_a_submission_has_a_time_of_its_own_beyond_which_no_job_is_run() -> None:
    ranks = Ranks(lambda job, index: right(job.cases[index]))
    grading = Grading(ranks, LAB, baseline_of(), Given(LAB, "1"), TOLERANCE, Timings(), seconds=0)
    (verdict,) = grading.grade([Job("run-1", 2, CASES[:1])], at_once=1)
    assert (verdict.status, [found.code for found in verdict.findings]) == ("failed", ["time-limit"])
    assert "0 s for the submission as a whole" in verdict.findings[0].message
    assert ranks.jobs == []
