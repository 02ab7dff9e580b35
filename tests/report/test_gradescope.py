"""``results.json``, by the rules of Gradescope's documentation."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from grader.report.gradescope import gradescope
from grader.report.schema import Report
from tests.report.hostile import hostile, plain
from tests.report.made import instead, report_on, verdict

Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]
Kind = Literal["text", "html", "simple_format", "md", "ansi"]


class OneTest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    score: float | None = None
    max_score: float | None = None
    status: Literal["passed", "failed"] | None = None
    name: str = ""
    name_format: Kind = "text"
    number: str = ""
    output: str = ""
    output_format: Kind = "text"
    tags: list[str] = []
    visibility: Visibility = "visible"
    extra_data: dict[str, object] = {}


class Results(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    score: float | None = None
    execution_time: float | None = None
    output: str = ""
    output_format: Kind = "simple_format"
    test_output_format: Kind = "text"
    test_name_format: Kind = "text"
    visibility: Visibility = "visible"
    stdout_visibility: Visibility = "hidden"
    extra_data: dict[str, object] = {}
    tests: list[OneTest] = Field(default=[])
    leaderboard: list[object] = Field(default=[], max_length=0)


def refuse(token: str) -> object:
    raise AssertionError(f"{token} is no JSON")


def results(report: Report) -> Results:
    text = gradescope(report)
    assert "\r" not in text and text.isascii() and text.endswith("}\n")
    json.loads(text, parse_constant=refuse)
    return Results.model_validate_json(text)


@pytest.mark.parametrize("report", plain())
def test_every_report_gives_results_by_the_rules(report: Report) -> None:
    made = results(report)
    assert made.score == report.score == sum(test.score or 0 for test in made.tests)
    assert report.max_score == sum(test.max_score or 0 for test in made.tests)
    assert len({test.number for test in made.tests}) == len(made.tests)
    assert made.stdout_visibility == "hidden"


def test_every_test_is_visible_so_that_students_see_their_total() -> None:
    made = results(hostile())
    assert made.visibility == "visible" and {test.visibility for test in made.tests} == {"visible"}


def test_what_could_not_be_carried_out_is_not_shown_as_passed_and_says_so() -> None:
    made = results(report_on(instead(verdict("first", "hidden", "error", 1, detail="no port"))))
    (wrong,) = [test for test in made.tests if test.status != "passed"]
    assert (wrong.score, wrong.max_score) == (0, 0)
    assert "could not be carried out, and costs nothing: no port" in wrong.output
    assert "ask the staff" in made.output


def test_a_failed_check_shows_its_finding_and_a_passed_one_none() -> None:
    made = results(report_on(instead(verdict("first", "hidden", "failed", 1))))
    by_name = {test.name: test for test in made.tests}
    failed = by_name["Part 1: first: hidden"]
    assert "Failed in 1 of 2 cases" in failed.output
    assert "no-update · tiny.py:12 · rank 0\nIt is off." in failed.output
    assert by_name["Part 1: first: baseline"].output == "Passed."


def test_students_text_is_plain_text_without_control_characters_or_commands() -> None:
    made = results(hostile())
    formats = {made.output_format, made.test_output_format, made.test_name_format}
    assert formats | {test.output_format for test in made.tests} == {"text"}
    texts = [made.output, *(test.output for test in made.tests), *(test.name for test in made.tests)]
    assert any("<script>" in text for text in texts)  # nothing is lost: it is not markup there
    assert not set("".join(texts)) & set("\x00\x1b\u202e\ud800\u2028")
    assert "##[" not in gradescope(hostile())


def test_what_an_instructor_knows_is_not_in_it() -> None:
    text = gradescope(
        report_on(instead(verdict("first", "hidden", "failed", 31337, message="At 31337: off.")))
    )
    assert "31337" not in text and "--seed" not in text and "99" not in text
