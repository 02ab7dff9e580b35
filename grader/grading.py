"""Runs the jobs of a submission and has them judged, until every case has its verdict.

Cases share a job where they can, for starting ranks is what takes the time: all exercises of a world size.
What does not pass there is asked again, each case in a job of its own: none fails by what another one left
behind in the process.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
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
        with ThreadPoolExecutor(at_once) as pool:
            try:
                graded = [pool.submit(self._in_company, job, pool) for job in jobs]
                settled = [future.result() for future in graded]
                return [places[place].result() for places in settled for place in sorted(places)]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _in_company(self, job: Job, pool: Executor) -> dict[int, Future[CaseVerdict]]:
        """Ask all cases of ``job`` together; what does not pass there is asked again, each case alone, in
        ``pool``. Behind an exercise that ended the job, the others go on together for as long as something
        passes. The verdicts, by place in the job."""
        verdicts: dict[int, Future[CaseVerdict]] = {}
        places = list(range(len(job.cases)))
        while len(places) > 1:
            attempt = replace(_with(job, places), run_id=secrets.token_hex(8))
            mixed = len(attempt.exercises) > 1
            found, stopped = self._run_and_judge(
                replace(attempt, seconds=_SECONDS_TOGETHER) if mixed else attempt
            )
            # The very first case had a fresh process. Not so much time, though, if it is in mixed company.
            first = None if mixed or found[0].status == "error" else places[0]
            settled = {p: v for p, v in zip(places, found, strict=True) if p == first or v.status == "passed"}
            self.on_job(attempt, len(settled))
            verdicts |= {p: pool.submit(self._second_chance, job, v) for p, v in settled.items()}
            further = [] if stopped is None or not settled else _behind(attempt, stopped, places)
            alone = [place for place in places if place not in settled and place not in further]
            verdicts |= {place: pool.submit(self._alone, job, place) for place in alone}
            places = further
        return verdicts | {place: pool.submit(self._alone, job, place) for place in places}

    def _alone(self, job: Job, place: int) -> CaseVerdict:
        alone = _with(job, [place])
        verdict = self._ask(job, alone.cases[0])
        self.on_job(alone, 1)
        return self._second_chance(job, verdict)

    def _second_chance(self, job: Job, verdict: CaseVerdict) -> CaseVerdict:
        """A share of the data was not enough, which has honest reasons, too: ask again with other shares."""
        case, exercise = verdict.case, self.lab[verdict.case.exercise]
        asks_all = exercise.ranks_asked == "all"
        reached = share.reached_withheld(verdict.findings)
        if not (asks_all and self.given.to(case) and (reached or share.may_have_looked(verdict.findings))):
            return verdict
        again = self._ask(job, replace(case, noise=True))
        if again.status == "passed" or not reached:
            return again if again.status == "passed" else verdict
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
        """Ask ``case`` in a job of its own, otherwise as in ``job``; once more when it could not be carried
        out."""
        for _ in range(2):
            attempt = replace(job, run_id=secrets.token_hex(8), cases=(case,))
            (verdict,), _ended = self._run_and_judge(attempt)
            if verdict.status != "error":
                break
        return verdict

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


def _behind(job: Job, stopped: int, places: Sequence[int]) -> list[int]:
    """Which of ``places``, one for each case, come after the ``stopped`` one and are not of its exercise."""
    at_fault = job.cases[stopped].exercise
    rest = range(stopped + 1, len(places))
    return [places[index] for index in rest if job.cases[index].exercise != at_fault]


def _with(job: Job, places: Iterable[int]) -> Job:
    """The job with these of its cases only."""
    return replace(job, cases=tuple(job.cases[place] for place in places))


def _names(job: Job) -> str:
    return job.exercises[0] if len(job.exercises) == 1 else "all exercises"
