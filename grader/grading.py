"""Runs the jobs of a submission and has them judged, until every case has its verdict.

Cases share a job where they can. One that fails there is asked again in a job in which it comes first:
what an earlier case left behind in the process must not decide its verdict.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from grader.exercises.contract import Lab
from grader.job import Job, JobResult
from grader.judge import share
from grader.judge.baseline import Baseline
from grader.judge.given import Given
from grader.judge.verdict import CaseVerdict, judge_case


class Runner(Protocol):
    """What runs a job: a `grader.run.session.Session`."""

    def run(self, job: Job) -> JobResult: ...


@dataclass
class Timings:
    """Where the time went: spans of (what, seconds since the start, seconds), in order of their end."""

    started: float = field(default_factory=time.monotonic)
    spans: list[tuple[str, float, float]] = field(default_factory=list)

    def add(self, what: str, since: float) -> None:
        """Note a span that began at ``since`` (of `time.monotonic`) and ends now."""
        self.spans.append((what, since - self.started, time.monotonic() - since))


@dataclass(frozen=True)
class Grading:
    """All that is needed to turn a job into verdicts.

    ``on_job`` is called after each job, from the thread that ran it, with what was run and how many of
    the cases that it settled.
    """

    runner: Runner
    lab: Lab
    baseline: Baseline
    given: Given
    tolerance: float
    timings: Timings
    on_job: Callable[[Job, int], None] = lambda job, settled: None

    def grade(self, jobs: Iterable[Job], at_once: int) -> list[CaseVerdict]:
        """The verdict on every case of ``jobs``, in their order; ``at_once`` jobs run at the same time."""
        jobs = list(jobs)
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(self._settle, job) for job in jobs]
            try:
                return [verdict for future in futures for verdict in future.result()]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _settle(self, job: Job) -> list[CaseVerdict]:
        settled: dict[int, CaseVerdict] = {}
        pending = list(range(len(job.cases)))
        while pending:
            attempt = replace(job, run_id=secrets.token_hex(8), cases=tuple(job.cases[i] for i in pending))
            verdicts = dict(zip(pending, self._attempt(attempt), strict=True))
            # The first case ran in a fresh process, so its verdict stands; of the others, only what passed.
            final = {i: v for i, v in verdicts.items() if i == pending[0] or v.status == "passed"}
            settled |= final
            pending = [i for i in pending if i not in settled]
            self.on_job(attempt, len(final))
        return [self._second_chance(job, settled[i]) for i in range(len(job.cases))]

    def _second_chance(self, job: Job, verdict: CaseVerdict) -> CaseVerdict:
        """A submission may well draw everything on rank 0 and send it out from there: when a share of the
        data was not enough, ask once more with all of it on rank 0."""
        asks_all = self.lab[job.exercise].ranks_asked == "all"
        if not (asks_all and self.given.to(verdict.case) and share.reached_withheld(verdict.findings)):
            return verdict
        case = replace(verdict.case, first_rank_whole=True)
        again = self._attempt(replace(job, run_id=secrets.token_hex(8), cases=(case,)))[0]
        self.on_job(job, 0)
        return verdict if share.reached_withheld(again.findings) else again

    def _attempt(self, job: Job) -> Sequence[CaseVerdict]:
        """Run and judge a job; once more when the grader could not carry it out."""
        verdicts = self._run_and_judge(job)
        if verdicts[0].status == "error":
            verdicts = self._run_and_judge(replace(job, run_id=secrets.token_hex(8)))
        return verdicts

    def _run_and_judge(self, job: Job) -> Sequence[CaseVerdict]:
        begun = time.monotonic()
        result = self.runner.run(replace(job, shares=self.given.shares(job)))
        self.timings.add(f"job {job.exercise} x{job.world_size}", begun)
        begun = time.monotonic()
        exercise = self.lab[job.exercise]
        verdicts = [
            judge_case(self.lab, exercise, case, index, result, self.baseline, self.tolerance)
            for index, case in enumerate(job.cases)
        ]
        self.timings.add(f"comparison {job.exercise} x{job.world_size}", begun)
        return verdicts
