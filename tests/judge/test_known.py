"""Wrong values that equal those of a known mistake get its name."""

from __future__ import annotations

import torch

from grader.exercises.contract import Case, Exercise, Mistake
from grader.judge.evidence import Evidence
from grader.judge.known import known_mistake
from grader.judge.updates import explain_values

RIGHT = torch.zeros(3, 4)
OWN = {rank: torch.full((3, 4), 1.0 + rank) for rank in range(4)}


def mistake(code, values):
    """``values`` gives the weight of a rank, or None where the mistake does not apply."""

    def named(reference, case, rank):
        value = values(rank)
        return {} if value is None else {"weight": value}

    return Mistake(code, f"It is {code}.", named)


OWN_SLICE = mistake("own-slice-only", lambda rank: OWN[rank])
SAME_SLICE = mistake("same-slice-on-every-rank", lambda rank: OWN[0])


def explained(returned, *mistakes, initial=None):
    exercise = Exercise("tiny", "Tiny", ("step",), lambda *_: {}, lambda *_: {}, mistakes=mistakes)
    wrong = {rank: ("weight",) for rank, value in returned.items() if not torch.equal(value, RIGHT)}
    evidence = Evidence(
        exercise=exercise,
        case=Case("tiny", "baseline", 1, len(returned)),
        expected={rank: {"weight": RIGHT} for rank in returned},
        initial={rank: {"weight": torch.ones(3, 4) if initial is None else initial} for rank in returned},
        returned={rank: {"weight": value} for rank, value in returned.items()},
        wrong=wrong,
        arguments={},
        tolerance=1e-5,
        mistaken=lambda mistake, rank: mistake.values(None, None, rank),
    )
    return known_mistake(evidence), explain_values(evidence)


def test_values_of_a_known_mistake_get_its_code_and_its_sentence():
    found, explanations = explained(OWN, OWN_SLICE)
    assert (found.code, found.message, found.ranks) == (
        "own-slice-only", "It is own-slice-only.", (0, 1, 2, 3),
    )  # fmt: skip
    assert explanations == (found,)


def test_rounding_noise_does_not_hide_a_mistake_and_more_than_noise_does():
    assert explained({0: OWN[0] + 1e-6}, OWN_SLICE)[0] is not None
    assert explained({0: OWN[0] + 1e-3}, OWN_SLICE)[0] is None


def test_the_mistake_that_explains_most_ranks_is_chosen_whatever_their_order():
    everywhere_first = dict.fromkeys(range(4), OWN[0])
    for mistakes in ((OWN_SLICE, SAME_SLICE), (SAME_SLICE, OWN_SLICE)):
        assert explained(OWN, *mistakes)[0].code == "own-slice-only"
        assert explained(everywhere_first, *mistakes)[0].code == "same-slice-on-every-rank"


def test_of_two_mistakes_that_coincide_the_first_is_named():
    assert explained({0: OWN[0]}, OWN_SLICE, SAME_SLICE)[0].code == "own-slice-only"
    assert explained({0: OWN[0]}, SAME_SLICE, OWN_SLICE)[0].code == "same-slice-on-every-rank"


def test_a_mistake_that_gives_the_right_answer_explains_nothing():
    harmless = mistake("harmless", lambda rank: RIGHT + 2e-5)
    assert explained({0: RIGHT + 3e-5}, harmless)[0] is None


def test_a_mistake_that_does_not_apply_explains_nothing():
    assert explained({0: OWN[0]}, mistake("elsewhere", lambda rank: None))[0] is None


def test_ranks_that_a_mistake_does_not_explain_are_explained_by_something_else():
    found, explanations = explained({**OWN, 3: torch.full((3, 4), 0.25)}, OWN_SLICE)
    assert found.ranks == (0, 1, 2)
    assert [(e.code, e.ranks) for e in explanations] == [
        ("own-slice-only", (0, 1, 2)), ("gradient-scaled", (3,)),
    ]  # fmt: skip


def test_a_known_mistake_comes_before_the_factor_that_it_also_is():
    twice = mistake("gradients-not-cleared", lambda rank: RIGHT - torch.ones(3, 4))
    _, explanations = explained({0: RIGHT - torch.ones(3, 4)}, twice)
    assert [e.code for e in explanations] == ["gradients-not-cleared"]
