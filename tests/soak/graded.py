"""Grades cases of the corpus, one after another, in a process and a sandbox that stay."""

from __future__ import annotations

import shutil
import tempfile
import time
import tomllib
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from grader.cases import cases_for, jobs_for, secret_of
from grader.exercises.assignment4 import LAB
from grader.grading import Grading
from grader.intake import Submission
from grader.judge.baseline import Baseline
from grader.judge.given import Given
from grader.report.build import RunFacts, build_report
from grader.report.schema import Report
from grader.rubric import Rubric, load_rubric
from grader.run import sandbox
from grader.run.session import Session
from grader.timings import Timings
from tests.corpus import CORPUS, load_case
from tests.grading import COURSE, verdicts
from tests.soak.changes import Verdict, flat

MASTER_SEED = 20
_JOBS_AT_ONCE = 2


def graded(name: str) -> dict[str, Verdict]:
    """All verdicts on a case, ``kind/name``, by their place."""
    return flat(name, verdicts(_bench().grade(name)))


class _Bench:
    """What is the same for all cases. The sandbox is another only for a case that has limits of its own."""

    def __init__(self) -> None:
        self._rubric = load_rubric(COURSE.rubric_path)
        self._given = Given(LAB, secret_of(MASTER_SEED))
        reference = COURSE.reference_dir / LAB.file
        self._baseline = Baseline(LAB, reference, COURSE.staff_utils, self._given)
        self._folder = Path(tempfile.mkdtemp(prefix="soak-"), "submission")
        self._folder.mkdir()
        self._session = self._started(self._rubric)

    def _started(self, rubric: Rubric) -> Session:
        place = sandbox.bubblewrap(self._folder.parent, COURSE.staff_utils)
        return Session(place, LAB.name, rubric.limits.for_job())

    def grade(self, name: str) -> Report:
        self._stage(load_case(CORPUS / name))
        expect = CORPUS / name / "expect.toml"
        expected: dict[str, Any] = tomllib.loads(expect.read_text("utf-8")) if expect.exists() else {}
        limits = expected.get("limits")
        if not limits:
            return self._asked(name, self._session)
        rubric = self._rubric.model_copy(update={"limits": self._rubric.limits.model_copy(update=limits)})
        with self._started(rubric) as session:
            return self._asked(name, session)

    def _asked(self, name: str, session: Session) -> Report:
        cases = [
            case
            for exercise in sorted(LAB.exercises, key=lambda exercise: exercise.whole_file)
            for case in cases_for(self._rubric, LAB, exercise, MASTER_SEED)
        ]
        jobs = sorted(jobs_for(cases), key=lambda job: -job.world_size)
        begun = time.monotonic()
        grading = Grading(session, LAB, self._baseline, self._given, self._rubric.tolerance, Timings())
        found = grading.grade(jobs, _JOBS_AT_ONCE)
        facts = RunFacts(MASTER_SEED, "", "bwrap", "fork", "cpu", time.monotonic() - begun)
        return build_report(Submission(name, "", ()), self._rubric, LAB, found, facts)

    def _stage(self, files: dict[str, bytes]) -> None:
        for old in self._folder.iterdir():
            old.unlink()
        for name, content in files.items():
            path = self._folder / name
            path.write_bytes(content)
            path.chmod(0o644)

    def close(self) -> None:
        self._session.close()
        shutil.rmtree(self._folder.parent)


@cache
def _bench() -> _Bench:
    made = _Bench()
    Finalize(None, made.close, exitpriority=1)  # a pool's processes end without atexit
    return made
