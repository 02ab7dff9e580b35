"""Runs the jobs of a submission and has them judged, until every case has its verdict.

Cases share a job where they can, for starting ranks is what takes the time: first all exercises of a world
size, then what did not pass there, each exercise by itself. One that fails there behind another is asked
again in a job in which it comes first: no case fails by what an earlier one left behind in the process.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from grader.exercises.contract import Case, Lab
from grader.job import Job, JobResult
from grader.judge import share
from grader.judge.baseline import Baseline
from grader.judge.given import Given
from grader.judge.verdict import CaseVerdict, judge_case
from grader.timings import Timings

# An endless loop need not be waited for in full to know that its exercise is to be asked alone.
_SECONDS_TOGETHER = 10.0


class Runner(Protocol):
    """What runs a job: a `grader.run.session.Session`."""

    def run(self, job: Job) -> JobResult: ...


@dataclass(frozen=True)
class Grading:
    """All that is needed to turn a job into verdicts. ``seconds`` may pass for all jobs of the submission.

    ``on_job`` is called after each job, from the thread that ran it, with what was run and how many of
    the cases that it settled.
    """

    runner: Runner
    lab: Lab
    baseline: Baseline
    given: Given
    tolerance: float
    timings: Timings
    seconds: float = float("inf")
    on_job: Callable[[Job, int], None] = lambda job, settled: None
    _begun: float = field(default_factory=time.monotonic, init=False)

    def grade(self, jobs: Iterable[Job], at_once: int) -> list[CaseVerdict]:
        """The verdict on every case of ``jobs``, in their order; ``at_once`` jobs run at the same time."""
        jobs = list(jobs)
        with ThreadPoolExecutor(at_once) as pool:
            try:
                settled = list(pool.map(self._together, jobs))
                apart = [
                    (verdicts, places, pool.submit(self._settle, rest))
                    for job, verdicts in zip(jobs, settled, strict=True)
                    for places, rest in _apart(job, verdicts)
                ]
                for verdicts, places, future in apart:
                    verdicts.update(zip(places, future.result(), strict=True))
                return [verdicts[place] for verdicts in settled for place in sorted(verdicts)]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _together(self, job: Job) -> dict[int, CaseVerdict]:
        """What passes, by place in the job, when exercises are asked in one job. Only that counts: the rest
        is asked again, and in a right submission there is no rest. Behind an exercise that ended the job, the
        others go on without it for as long as something passes."""
        passed: dict[int, CaseVerdict] = {}
        places = list(range(len(job.cases)))
        while len({job.cases[place].exercise for place in places}) > 1:
            attempt = replace(_with(job, places), run_id=secrets.token_hex(8), seconds=_SECONDS_TOGETHER)
            verdicts, stopped = self._run_and_judge(attempt)
            news = {p: v for p, v in zip(places, verdicts, strict=True) if v.status == "passed"}
            passed |= news
            self.on_job(attempt, len(news))
            if stopped is None or not news:
                break
            at_fault = attempt.cases[stopped].exercise
            places = [place for place in places[stopped + 1 :] if job.cases[place].exercise != at_fault]
        return passed

    def _settle(self, job: Job) -> list[CaseVerdict]:
        settled: dict[int, CaseVerdict] = {}
        pending = list(range(len(job.cases)))
        while pending:
            attempt = replace(_with(job, pending), run_id=secrets.token_hex(8))
            verdicts = dict(zip(pending, self._attempt(attempt), strict=True))
            # The first case ran in a fresh process, so its verdict stands; of the others, only what passed.
            final = {i: v for i, v in verdicts.items() if i == pending[0] or v.status == "passed"}
            settled |= final
            pending = [i for i in pending if i not in settled]
            self.on_job(attempt, len(final))
        return [self._second_chance(job, settled[i]) for i in range(len(job.cases))]

    def _second_chance(self, job: Job, verdict: CaseVerdict) -> CaseVerdict:
        """A share of the data was not enough, which has honest reasons, too: ask again with other shares."""
        case, exercise = verdict.case, self.lab[verdict.case.exercise]
        asks_all = exercise.ranks_asked == "all"
        if not (asks_all and self.given.to(case) and share.reached_withheld(verdict.findings)):
            return verdict
        if exercise.rows_to_cut is not None:
            # It may have cut up the batch in its own way: look how when every rank has all of it.
            whole = self._ask(job, replace(case, whole_ranks=tuple(range(case.world_size))))
            if rows := share.cut(dict(whole.work), exercise.rows_to_cut(case), case.world_size):
                again = self._ask(job, replace(case, rows=rows))
                if again.status == "passed":
                    return again
        # A submission may well draw everything on rank 0 and send it out from there.
        again = self._ask(job, replace(case, whole_ranks=(0,)))
        return verdict if share.reached_withheld(again.findings) else again

    def _ask(self, job: Job, case: Case) -> CaseVerdict:
        """Another question in place of one of ``job``'s cases, in a job of its own."""
        verdict = self._attempt(replace(job, run_id=secrets.token_hex(8), cases=(case,)))[0]
        self.on_job(job, 0)
        return verdict

    def _attempt(self, job: Job) -> Sequence[CaseVerdict]:
        """Run and judge a job; once more when the grader could not carry it out."""
        verdicts, _ = self._run_and_judge(job)
        if verdicts[0].status == "error":
            verdicts, _ = self._run_and_judge(replace(job, run_id=secrets.token_hex(8)))
        return verdicts

    def _run_and_judge(self, job: Job) -> tuple[Sequence[CaseVerdict], int | None]:
        """The verdicts, and the place of the case in which the job ended before its time."""
        begun = time.monotonic()
        left = self._begun + self.seconds - begun
        if left > 0:
            result = self.runner.run(
                replace(job, shares=self.given.shares(job), seconds=min(job.seconds, left))
            )
        else:
            result = JobResult(job, "time-limit", f"{self.seconds:g} s for the submission as a whole")
        self.timings.add(f"job {_names(job)} x{job.world_size}", begun)
        begun = time.monotonic()
        verdicts = [
            judge_case(self.lab, self.lab[case.exercise], case, index, result, self.baseline, self.tolerance)
            for index, case in enumerate(job.cases)
        ]
        self.timings.add(f"comparison {_names(job)} x{job.world_size}", begun)
        begun_last = max((end.case for end in result.ranks), default=-1)
        finished = result.ended == "finished" or begun_last not in range(len(job.cases))
        return verdicts, None if finished else begun_last


def _apart(job: Job, passed: Collection[int]) -> Iterator[tuple[list[int], Job]]:
    """What has not ``passed`` of a job: a job for each exercise, and the places of its cases in ``job``."""
    left = [place for place in range(len(job.cases)) if place not in passed]
    for name in job.exercises:
        if places := [place for place in left if job.cases[place].exercise == name]:
            yield places, _with(job, places)


def _with(job: Job, places: Iterable[int]) -> Job:
    """The job with these of its cases only."""
    return replace(job, cases=tuple(job.cases[place] for place in places))


def _names(job: Job) -> str:
    return job.exercises[0] if len(job.exercises) == 1 else "all exercises"
