"""JUnit XML (xunit2): a suite for each exercise, a test case for each check.

Wrong work is a failure, a check that the grader could not carry out an error, an exercise that was not asked
is skipped. Points are the properties ``score`` and ``max_score`` of a test case.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from grader.report.plain import check_head, check_text, defused
from grader.report.schema import CheckPart, ExercisePart, Report

# What XML 1.0 has no room for; what reorders or breaks lines where it is shown; "\r", which parsers change.
_ILLEGAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def junit(report: Report) -> str:
    """The report as a JUnit XML document."""
    suites = [_suite(exercise) for exercise in report.exercises]
    counts = {
        key: str(sum(int(suite.get(key, "0")) for suite in suites))
        for key in ("tests", "failures", "errors", "skipped")
    }
    name = {"name": _shown(report.submission.name)}
    root = ET.Element("testsuites", {**name, **counts, "time": f"{report.seconds:.3f}"})
    root.extend(suites)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _suite(exercise: ExercisePart) -> ET.Element:
    statuses = [check.status for check in exercise.checks]
    skipped = exercise.status == "skipped"
    suite = ET.Element(
        "testsuite",
        name=_shown(exercise.title),
        tests=str(len(statuses) + skipped),
        failures=str(statuses.count("failed")),
        errors=str(statuses.count("error")),
        skipped=str(int(skipped)),
    )
    if skipped:
        case = ET.SubElement(suite, "testcase", classname=_shown(exercise.name), name=_shown(exercise.name))
        ET.SubElement(case, "skipped", message="This exercise was not asked.")
    suite.extend(_case(exercise, check) for check in exercise.checks)
    if exercise.output:
        printed = "\n".join(f"rank {row.rank}:\n{row.text}" for row in exercise.output)
        ET.SubElement(suite, "system-out").text = _shown(printed)
    return suite


def _case(exercise: ExercisePart, check: CheckPart) -> ET.Element:
    case = ET.Element("testcase", classname=_shown(exercise.name), name=_shown(check.name))
    properties = ET.SubElement(case, "properties")
    for name, points in (("score", check.score), ("max_score", check.max_score)):
        ET.SubElement(properties, "property", name=name, value=f"{points:.6g}")
    if check.status != "passed":
        kind, what = ("failure", "wrong") if check.status == "failed" else ("error", "grader")
        wrong = ET.SubElement(case, kind, message=_shown(check_head(exercise, check)), type=what)
        wrong.text = _shown(check_text(exercise, check))
    return case


def _shown(text: str) -> str:
    return defused(_ILLEGAL.sub(lambda found: f"#x{ord(found[0]):02X}", text))
