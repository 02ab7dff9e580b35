"""What only all cases of an exercise together show: numbers of the handout in the code."""

from __future__ import annotations

import pytest

from grader.exercises.contract import Case
from grader.judge.compare import RankVerdict
from grader.judge.findings import Finding
from grader.judge.hard_coded import name_hard_coded
from grader.judge.verdict import CaseVerdict

USUAL = {"input_dim": 64}
HIDDEN = ((1, 5), (2, 6), (4, 7))  # world size and seed


def verdict(check, code="", world_size=4, seed=42, sizes=USUAL):
    findings = (Finding(code, "Seen.", check, (0, 1)),) if code else ()
    status = "failed" if code else "passed"
    return CaseVerdict(
        Case("tiny", check, seed, world_size, sizes), status, (RankVerdict(0, status),), findings
    )


def verdicts(*hidden, baseline=""):
    cases = zip(hidden, HIDDEN, strict=True)
    return [
        verdict("baseline", baseline),
        *(verdict("hidden", code, ws, seed, {"input_dim": 60}) for code, (ws, seed) in cases),
    ]


def codes(found):
    return [finding.code for verdict in found for finding in verdict.findings]


@pytest.mark.parametrize("code", ["wrong-values", "shape-mismatch", "not-finite"])
def test_right_at_the_handouts_numbers_and_wrong_at_all_others_is_hard_coded(code):
    found = name_hard_coded(verdicts(code, code, code))
    assert codes(found) == ["hard-coded"] * 3
    assert [v.status for v in found] == ["passed", "failed", "failed", "failed"]
    assert "input_dim = 60, seed = 5, world_size = 1" in found[1].findings[0].message
    assert (found[1].findings[0].check, found[1].findings[0].ranks) == ("hidden", (0, 1))


def test_right_at_one_of_the_other_cases_too_is_not_hard_coded():
    assert codes(name_hard_coded(verdicts("", "wrong-values", "wrong-values"))) == ["wrong-values"] * 2


def test_wrong_at_the_handouts_numbers_too_is_not_hard_coded():
    seen = verdicts("wrong-values", "wrong-values", "wrong-values", baseline="wrong-values")
    assert name_hard_coded(seen) == tuple(seen)


def test_a_cause_with_a_name_keeps_it():
    seen = verdicts("wrong-values", "exception", "wrong-values")
    assert name_hard_coded(seen) == tuple(seen)


def test_a_factor_that_is_right_with_the_handouts_count_only_is_hard_coded():
    found = name_hard_coded(verdicts("gradient-scaled", "gradient-averaged-twice", ""))
    assert codes(found) == ["hard-coded"] * 2


def test_a_baseline_that_could_not_be_asked_says_nothing():
    baseline, *hidden = verdicts("wrong-values", "wrong-values", "wrong-values")
    asked = [CaseVerdict(baseline.case, "error", ()), *hidden]
    assert name_hard_coded(asked) == tuple(asked)
    assert name_hard_coded(hidden) == tuple(hidden)


def test_another_check_is_renamed_where_its_numbers_are_not_the_handouts():
    seen = [
        *verdicts("wrong-values", "wrong-values", "wrong-values"),
        verdict("input_gradient", "shape-mismatch", 2, 6, {"input_dim": 60}),
        verdict("input_gradient", "input-gradient-wrong"),
    ]
    assert codes(name_hard_coded(seen))[-2:] == ["hard-coded", "input-gradient-wrong"]


def test_exercises_are_looked_at_one_by_one_and_the_order_stays():
    other = CaseVerdict(
        Case("other", "hidden", 1, 1), "failed", (), (Finding("wrong-values", "Seen.", "hidden"),)
    )
    found = name_hard_coded([other, *verdicts("wrong-values", "wrong-values", "wrong-values")])
    assert found[0] == other
    assert codes(found) == ["wrong-values", "hard-coded", "hard-coded", "hard-coded"]
