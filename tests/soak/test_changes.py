from __future__ import annotations

from tests.soak.changes import changed, described, flat

GRADED = [("pipeline", "failed", 0, [("hidden", "failed", ["passed", "failed"])], [("deadlock", "hidden")])]
OTHERWISE = [
    ("pipeline", "failed", 0, [("hidden", "failed", ["passed", "failed"])], [("exception", "hidden")])
]


def test_rounds_that_agree_have_changed_nothing() -> None:
    assert changed([flat("wrong/x", GRADED), flat("wrong/x", GRADED)]) == []


def test_another_finding_is_a_change_that_says_how_often_each_was_given() -> None:
    rounds = [flat("wrong/x", GRADED), flat("wrong/x", OTHERWISE), flat("wrong/x", GRADED)]
    assert changed(rounds) == ["wrong/x · pipeline · findings"]
    text = described("wrong/x · pipeline · findings", rounds)
    assert "2 x  [('deadlock'" in text and "1 x  [('exception'" in text


def test_a_case_that_passes_in_one_round_only_is_a_change() -> None:
    flaky = [
        ("pipeline", "failed", 0, [("hidden", "failed", ["passed", "passed"])], [("deadlock", "hidden")])
    ]
    assert changed([flat("wrong/x", GRADED), flat("wrong/x", flaky)]) == [
        "wrong/x · pipeline · hidden · case 1"
    ]
