"""JUnit XML (xunit2)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from grader.report.junit import junit
from grader.report.schema import Report
from tests.report.hostile import hostile, plain
from tests.report.made import all_passed, instead, report_on, verdict

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"classname", "name"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase", "system-out"},
    "testcase": {"properties", "failure", "error", "skipped"},
    "properties": {"property"},
}
LEGAL = re.compile("[\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def parsed(report: Report) -> ET.Element:
    text = junit(report)
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n')
    assert LEGAL.fullmatch(text) and "\r" not in text
    return ET.fromstring(text.encode("utf-8"))


@pytest.mark.parametrize("report", plain())
def test_every_report_has_the_structure_and_counts_that_are_right(report: Report) -> None:
    root = parsed(report)
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.keys()) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        if element.tag in ("testsuite", "testsuites"):
            for key, tag in (
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
                ("skipped",) * 2,
            ):
                assert int(element.get(key, "")) == len(list(element.iter(tag)))
    assert len(root) == len(report.exercises)


def test_points_are_properties() -> None:
    case = parsed(report_on(instead(verdict("first", "hidden", "failed", 1)))).findall("testsuite/testcase")[
        1
    ]
    points = {found.get("name"): found.get("value") for found in case.findall("properties/property")}
    assert points == {"score": "0", "max_score": "30"}


def test_wrong_work_is_a_failure_and_a_fault_of_the_grader_an_error() -> None:
    root = parsed(
        report_on(
            instead(
                verdict("first", "hidden", "failed", 1),
                verdict("second", "hidden", "error", 2, detail="no port"),
            )
        )
    )
    (failure,), (error,) = root.findall(".//failure"), root.findall(".//error")
    assert failure.get("message") == "no-update" and "It is off." in (failure.text or "")
    assert error.get("message") == "could not be carried out: no port"


def test_what_was_not_asked_is_skipped() -> None:
    report = report_on([case for case in all_passed() if case.case.exercise == "first"], only=["first"])
    (case,) = parsed(report).findall("testsuite")[1]
    assert [child.tag for child in case] == ["skipped"]


def test_characters_that_xml_has_no_room_for_are_shown_by_their_number() -> None:
    texts = "".join(parsed(hostile()).itertext())
    assert "<script>alert(1)</script>" in texts and "]]>" in texts and "<![CDATA[" in texts
    printed = parsed(hostile()).findtext(".//system-out") or ""
    for shown in ("#x1B[31m", "#x00", "#x202E", "#xD800", "#xFFFE", "#x0D", "#x2028"):
        assert shown in printed
    assert not any(line.lstrip().startswith("::") for line in junit(hostile()).splitlines())
    assert "##[" not in junit(hostile())
