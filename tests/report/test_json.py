"""``report.json``."""

from __future__ import annotations

import json
import math
import os

import pytest
from pydantic import ValidationError

from grader.judge.compare import RankVerdict
from grader.report.files import write_to
from grader.report.schema import RankRow, Report
from tests.report.made import Submission, all_passed, instead, report_on, verdict

REPORT = report_on(instead(verdict("first", "hidden", "failed", 1)))


def refuse(token):
    raise AssertionError(token)


def test_the_json_has_the_keys_of_schema_1_and_no_nan():
    data = json.loads(REPORT.to_json(), parse_constant=refuse)
    assert data["schema"] == 1
    assert {
        "schema",
        "submission",
        "status",
        "score",
        "max_score",
        "exercises",
        "machine",
        "sandbox",
        "seconds",
    } <= set(data)
    assert set(data["submission"]) == {"name", "sha256", "files", "ignored"}
    exercise = data["exercises"][0]
    assert {"name", "title", "status", "score", "max_score", "checks", "findings"} <= set(exercise)
    assert set(exercise["findings"][0]) == {"code", "message", "check", "ranks", "file", "line", "source"}
    case = exercise["checks"][0]["cases"][0]
    assert {"seed", "world_size", "sizes", "ranks", "status"} <= set(case)
    assert case["ranks"] == [
        {"rank": 0, "status": "passed", "match": True, "max_diff": 1e-7, "mean_diff": None}
    ]


def test_a_report_read_back_is_the_same():
    assert Report.from_json(REPORT.to_json()) == REPORT


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_refused(number):
    with pytest.raises(ValidationError):
        RankRow(rank=0, status="failed", match=False, max_diff=number, mean_diff=None)
    with pytest.raises(ValidationError):
        report_on([verdict("first", "baseline", ranks=(RankVerdict(0, "passed", True, number, number),))])


def test_names_that_cannot_be_encoded_are_written():
    report = report_on(all_passed(), submission=Submission(name="M\xfcller\ud800\n", files=("a\udcff.py",)))
    assert json.loads(report.to_json())["submission"]["name"] == "M\xfcller\N{REPLACEMENT CHARACTER}"


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    target = tmp_path / "report.json"
    target.write_text("old")
    write_to(target, REPORT.to_json())
    assert Report.from_json(target.read_bytes()) == REPORT
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "report.json"
    target.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_to(target, REPORT.to_json())
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_dash_is_standard_output(capsys):
    write_to("-", REPORT.to_json())
    assert Report.from_json(capsys.readouterr().out) == REPORT
