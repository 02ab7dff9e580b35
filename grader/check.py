"""Grades submissions, from the file handed in to the report."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.course import Course
from grader.evidence import read_evidence
from grader.intake import Submission, take_in
from grader.intake.sources import lines_of
from grader.job import Job
from grader.options import Options, replay_command
from grader.report.build import RunFacts, build_report
from grader.report.schema import Report
from grader.rubric import Rubric
from grader.run import sandbox
from grader.run.session import Session
from grader.scratch import scratch
from grader.timings import Timings
from grader.trusted import Trusted, exercises_asked, trusted

# A job waits about as long (for its rendezvous, for its peers) as it computes.
_JOBS_AT_ONCE = 2 * max(2, os.cpu_count() or 2)


@dataclass(frozen=True)
class Progress:
    """Called as the work goes on: ``planned`` with the number of cases, ``settled`` after each job."""

    planned: Callable[[int], None] = lambda cases: None
    settled: Callable[[Job, int], None] = lambda job, cases: None


@dataclass
class Graded:
    """A report, and where its time went."""

    report: Report
    timings: Timings = field(repr=False)


def check(path: Path, course: Course, rubric: Rubric, options: Options, progress: Progress) -> Graded:
    """Grade the submission at ``path``.

    Raises `grader.intake.IntakeError` when there is nothing to grade in it, `grader.options.UsageError`,
    `grader.rubric_errors.RubricError`, and `grader.run.sandbox.SandboxError` when it cannot be run here.
    """
    with Grader(course, rubric, options) as grader:
        return grader.grade(path, progress)


class Grader:
    """Grades submissions, one or many: the sandbox and all that is trusted are made for the first of them
    and serve the others. Use as a context manager; `grade` may be called from several threads."""

    def __init__(self, course: Course, rubric: Rubric, options: Options, jobs_at_once: int = _JOBS_AT_ONCE):
        self._course, self._rubric, self._options = course, rubric, options
        self._jobs_at_once = jobs_at_once
        self._contexts = ExitStack()
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._died = 0  # sandboxes so far
        self._given_up = False
        self._trusted: Trusted | None = None

    def __enter__(self) -> Grader:
        self._staging = self._contexts.enter_context(scratch())
        return self

    def __exit__(self, *_: object) -> None:
        self._contexts.close()

    def give_up(self) -> None:
        """End the sandbox and whatever runs in it. Another thread's `grade` comes to an end with errors, or
        raises `grader.run.sandbox.SandboxError`."""
        with self._lock:
            self._given_up = True
            if self._session is not None:
                self._session.close()

    def grade(
        self, path: Path, progress: Progress = Progress(), only: tuple[str, ...] | None = None
    ) -> Graded:
        """Grade the submission at ``path``; ``only`` takes the place of the options'. Raises what `check`
        raises."""
        asked = self._options.only if only is None else only
        died_before = self._died
        graded = self._graded(path, progress, asked)
        if graded.report.status == "error" and self._has_died(since=died_before):
            graded = self._graded(path, progress, asked)
        return graded

    def _has_died(self, since: int) -> bool:
        """Whether a sandbox has: for want of memory, for instance. The next submission starts a new one."""
        with self._lock:
            if self._session is not None and not self._session.is_alive():
                self._session.close()
                self._session = None
                self._died += 1
            return self._died > since

    def _graded(self, path: Path, progress: Progress, only: tuple[str, ...]) -> Graded:
        begun = time.monotonic()
        staging = self._staging / secrets.token_hex(8)
        try:
            submission = take_in(path, staging, (f"{self._rubric.lab}.py",), self._rubric.intake.for_intake())
            took_in = time.monotonic()
            timings = Timings(begun)
            timings.spans.append(("intake", 0.0, took_in - begun))
            return self._grade(path, submission, staging.name, progress, timings, only)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _grade(
        self,
        path: Path,
        submission: Submission,
        staged: str,
        progress: Progress,
        timings: Timings,
        only: tuple[str, ...],
    ) -> Graded:
        with self._lock:
            session, made = self._prepare(timings)
        rubric, options = self._rubric, self._options
        asked = exercises_asked(only, made.lab)
        # Read before anything of the submission runs: without a sandbox it could change its own files.
        sources = lines_of(self._staging / staged, submission.files)
        evidence = None
        if submission.logs:
            code = {name: "\n".join(lines) for name, lines in sources.items()}
            evidence = read_evidence(submission.logs, code, made.lab)
        jobs = [
            replace(job, submission=staged, cases=cases)
            for job in made.jobs
            if (cases := tuple(case for case in job.cases if case.exercise in asked))
        ]
        progress.planned(sum(len(job.cases) for job in jobs))
        from grader.grading import Grading

        grading = Grading(
            session,
            made.lab,
            made.baseline,
            made.given,
            rubric.tolerance,
            timings,
            rubric.limits.submission_seconds,
            progress.settled,
        )
        verdicts = grading.grade(jobs, self._jobs_at_once)
        facts = RunFacts(
            seed=options.seed,
            command=replay_command(path, replace(options, only=only)),
            sandbox=options.sandbox,
            launcher=options.launcher,
            device=made.device,
            seconds=time.monotonic() - timings.started,
            machine=made.machine,
            notes=_notes(submission, options),
        )
        report = build_report(submission, rubric, made.lab, verdicts, facts, only or None, sources, evidence)
        return Graded(report, timings)

    def _prepare(self, timings: Timings) -> tuple[Session, Trusted]:
        if self._given_up:
            raise sandbox.SandboxError("The grading was ended.")
        if self._session is None:
            place = {"bwrap": sandbox.bubblewrap, "none": sandbox.in_the_open}[self._options.sandbox]
            # The agent imports torch while this process does.
            self._session = self._contexts.enter_context(
                Session(
                    place(self._staging, self._course.staff_utils),
                    self._rubric.lab,
                    self._rubric.limits.for_job(),
                    self._options.launcher,
                )
            )
        if self._trusted is None:
            begun = time.monotonic()
            self._trusted = trusted(self._course, self._rubric, self._options)
            timings.add("import torch (grader)", begun)
            begun = time.monotonic()
            timings.spans.append(("import torch (sandbox)", 0.0, self._session.import_seconds()))
            timings.add("wait for the sandbox", begun)
        return self._session, self._trusted


def _notes(submission: Submission, options: Options) -> tuple[str, ...]:
    if options.sandbox == "none":
        return (*submission.notes, "This submission was run without a sandbox (--sandbox none).")
    return submission.notes
