"""Reports with text in them that a student wrote to do harm, as if nothing had cleaned it before."""

from __future__ import annotations

from grader.report.schema import OutputRow, Report
from tests.report.made import Submission, all_passed, instead, report_on, verdict

EVIL = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> &lt; \"quotes' ]]> <![CDATA[ \x1b[31mred\x1b[0m "
    "\x00 \u202eevil\u202c \ud800 \ufffe ``` ```` | a | [link](javascript:alert(1)) @everyone\n"
    "https://x.example #1\n::set-output name=result::fake\n   ::error::fake\n##[set-env name=PATH]fake\n"
    "# Heading\n---\n~~~\n\r\n* x\u2028::y"
)


def hostile() -> Report:
    """Failed and printed in `first`, an error in `second`; the text is everywhere where text can be."""
    report = report_on(
        instead(
            verdict("first", "baseline", "failed", 42),
            verdict("first", "hidden", "failed", 1),
            verdict("second", "hidden", "error", 2, detail="x"),
        ),
        submission=Submission(name="evil"),
    )
    first, second = report.exercises
    findings = tuple(
        found.model_copy(update={"message": EVIL, "file": EVIL, "source": ((12, EVIL),)})
        for found in first.findings
    )
    first = first.model_copy(update={"findings": findings, "output": (OutputRow(rank=0, text=EVIL),)})
    (*checks, last) = second.checks
    cases = tuple(case.model_copy(update={"detail": EVIL}) for case in last.cases)
    second = second.model_copy(update={"checks": (*checks, last.model_copy(update={"cases": cases}))})
    part = report.submission.model_copy(
        update={
            "name": EVIL,
            "files": (EVIL,),
            "ignored": tuple(
                f.model_copy(update={"name": EVIL, "reason": EVIL}) for f in report.submission.ignored
            ),
        }
    )
    return report.model_copy(update={"submission": part, "exercises": (first, second), "notes": (EVIL,)})


def plain() -> list[Report]:
    """Reports of every kind: full marks, marks lost, an error, nothing asked, an exercise that is skipped."""
    return [
        report_on(all_passed()),
        report_on(
            instead(verdict("first", "hidden", "failed", 1), verdict("second", "baseline", "failed", 42))
        ),
        report_on(instead(verdict("first", "hidden", "error", 1, detail="no port"))),
        report_on([]),
        report_on([case for case in all_passed() if case.case.exercise == "first"], only=["first"]),
        hostile(),
    ]
