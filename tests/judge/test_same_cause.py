"""Where a step is already wrong with all of the data, a share of it tells nothing more."""

from __future__ import annotations

import pytest

from grader.exercises.contract import Case
from grader.judge.compare import RankVerdict
from grader.judge.findings import Finding
from grader.judge.same_cause import name_once
from grader.judge.verdict import CaseVerdict


def verdict(check, *codes, exercise="tiny"):
    status = "failed" if codes else "passed"
    findings = tuple(Finding(code, f"It is {code}.", check, (0, 1), "tiny.py", 7) for code in codes)
    return CaseVerdict(Case(exercise, check, 42, 4), status, (RankVerdict(0, status),), findings)


def test_a_share_that_fails_beside_the_baseline_fails_for_the_baselines_cause():
    baseline, own_share = name_once(
        [verdict("baseline", "own-slice-only"), verdict("own_share", "not-parallel")]
    )
    assert (own_share.status, own_share.case.check) == ("failed", "own_share")
    (finding,) = own_share.findings
    assert (finding.code, finding.check, finding.line) == ("own-slice-only", "own_share", 7)
    assert baseline == verdict("baseline", "own-slice-only")


@pytest.mark.parametrize(
    "seen",
    [
        [verdict("baseline"), verdict("own_share", "not-parallel")],
        [verdict("baseline", "exception", exercise="other"), verdict("own_share", "not-parallel")],
        [verdict("baseline", "wrong-values"), verdict("own_share", "exception")],
        [verdict("baseline", "wrong-values"), verdict("own_share")],
        [verdict("own_share", "not-parallel")],
        [verdict("baseline", "not-finite"), verdict("input_gradient", "not-parallel")],
    ],
    ids=["right baseline", "other exercise", "own cause", "passed", "no baseline", "other check"],
)
def test_otherwise_the_verdicts_stay_as_they_are(seen):
    assert name_once(seen) == tuple(seen)
