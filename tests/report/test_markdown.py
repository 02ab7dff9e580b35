"""Markdown: what a student wrote is code, and nothing else."""

from __future__ import annotations

import re

import pytest

from grader.report.markdown import markdown
from grader.report.schema import Report
from tests.report.hostile import hostile, plain
from tests.report.made import instead, report_on, verdict


def outside_of_code(text: str) -> str:
    """What is left without code, by the rules of CommonMark for fences and spans."""
    left, fence = [], ""
    for line in text.split("\n"):
        if fence:
            if re.fullmatch(r"`+ *", line) and len(line.strip()) >= len(fence):
                fence = ""
            continue
        if opening := re.match(r"`{3,}", line):
            fence = opening[0]
            continue
        left.append(line)
    assert not fence, "a block of code without an end"
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", "\n".join(left))


@pytest.mark.parametrize("report", plain())
def test_every_report_can_be_written(report: Report) -> None:
    text = markdown(report)
    assert f"{report.score:g} / {report.max_score:g}" in text
    assert all(title in text.replace("\\", "") for title in ("Part 1: first", "Part 2: second"))
    widths = {row.count("|") for row in text.split("\n") if row.startswith("| ")}
    assert len(widths) == 1


def test_students_text_is_nowhere_but_in_code() -> None:
    text = markdown(hostile())
    assert "<script>" in text
    rest = outside_of_code(text)
    for evil in ("script", "<", "javascript", "everyone", "x.example", "fake", "Heading\n---", "set-env"):
        assert evil not in rest
    assert not set(text) & set("\x00\x1b\u202e\ud800\u2028\r")


def test_no_line_is_a_workflow_command() -> None:
    text = markdown(hostile())
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[" not in text


def test_names_with_underscores_stay_as_they_are() -> None:
    report = report_on(instead(verdict("first", "hidden", "failed", 1)))
    part = report.exercises[0].model_copy(update={"title": "a_b_c <i>*x*</i> | y"})
    text = markdown(report.model_copy(update={"exercises": (part,)}))
    assert r"## a\_b\_c \<i\>\*x\*\</i\> \| y" in text


def test_a_finding_has_its_code_place_and_sentence_and_the_report_how_to_replay() -> None:
    text = markdown(report_on(instead(verdict("first", "hidden", "failed", 1))))
    assert "`no-update` · `tiny.py:12` · hidden · rank 0\n\n```text\nIt is off.\n```" in text
    assert "grader check ada.zip --seed 99" in text
