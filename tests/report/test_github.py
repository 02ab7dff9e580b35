"""The result of a runner of GitHub Classroom, and logs that give no orders."""

from __future__ import annotations

import base64
import json
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict

from grader.report.github import github, guarded, log_guard, result_line
from grader.report.schema import FindingRow, Report
from tests.report.hostile import EVIL, hostile, plain
from tests.report.made import instead, report_on, verdict

Status = Literal["pass", "fail", "error"]


class OneTest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    name: str
    status: Status
    score: float
    message: str
    test_code: str
    filename: str
    line_no: int
    duration: float


class Result(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    version: Literal[1]
    status: Status
    max_score: float
    tests: list[OneTest]


def result(report: Report) -> Result:
    return Result.model_validate_json(github(report))


@pytest.mark.parametrize("report", plain())
def test_every_report_gives_a_result_by_the_rules(report: Report) -> None:
    made = result(report)
    assert sum(test.score for test in made.tests) == report.score
    assert made.max_score == report.max_score
    assert "tests" in json.loads(github(report))


def test_three_values_stay_three() -> None:
    made = result(hostile())
    assert made.status == "error"
    assert [test.status for test in made.tests] == ["fail", "fail", "pass", "error"]
    failed = result(report_on(instead(verdict("first", "hidden", "failed", 1))))
    assert failed.status == "fail"
    assert [(test.filename, test.line_no) for test in failed.tests][1] == ("tiny.py", 12)


def test_the_line_for_the_steps_output_is_one_line_of_base64() -> None:
    line = result_line(hostile())
    name, _, value = line.removesuffix("\n").partition("=")
    assert name == "result" and "\n" not in value
    assert base64.b64decode(value, validate=True).decode() == github(hostile())


def test_however_much_there_is_to_say_it_fits_into_an_environment_variable() -> None:
    report = report_on(instead(verdict("first", "hidden", "failed", 1)))
    finding = FindingRow(code="x", message="ä" * 2000, check="hidden", ranks=(), file=None, line=None)
    part = report.exercises[0].model_copy(update={"findings": (finding,) * 20})
    many = report.model_copy(update={"exercises": (part,) * 60})
    assert len(result_line(many)) < 128 * 1024
    assert len(result(many).tests) == 120


def test_nothing_in_it_begins_a_command_in_a_log() -> None:
    text = github(hostile())
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[" not in text and text.isascii()


def test_a_log_is_guarded_by_a_token_that_is_not_in_it() -> None:
    token = "0123456789abcdef"
    begin, *lines, end = guarded(EVIL, token).splitlines()
    assert (begin, end) == (f"::stop-commands::{token}", f"::{token}::")
    assert any(line.startswith("::set-output") for line in lines)  # shown as it was printed
    with pytest.raises(ValueError, match="in the log"):
        guarded(f"::{token}::", token)


@pytest.mark.parametrize("token", ["", "short", "0123456789abcdef::", "pause logging now"])
def test_a_token_that_could_be_guessed_or_is_none_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="16 letters"):
        log_guard(token)
