"""What there is to say about one check, in plain text, and text that can do nothing where it is shown."""

from __future__ import annotations

import re

from grader.judge.text import clean_text
from grader.report.causes import line_of, named_ranks, why_error
from grader.report.schema import CaseRow, CheckPart, ExercisePart

_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)


def inert(text: str, limit: int = 20_000) -> str:
    """`grader.judge.text.clean_text`, and no workflow command of GitHub Actions: those begin a line with two
    colons, or stand anywhere after ``##[``. A space parts them."""
    return defused(clean_text(text, limit))


def defused(text: str) -> str:
    """``text`` without workflow commands, otherwise as it is."""
    return _COMMAND.sub(r"\1: ", text).replace("##[", "## [")


def check_text(exercise: ExercisePart, check: CheckPart) -> str:
    """Some lines on how the check went, and a paragraph for each finding; `inert`."""
    if check.status == "error":
        why = f"This check could not be carried out, and costs nothing: {why_error(check)}"
        return inert(why)
    if check.status == "passed":
        return "Passed."
    paragraphs = [_cases(check)]
    for finding in exercise.findings:
        if finding.check == check.name:
            where = (line_of(finding), named_ranks(finding.ranks))
            head = " · ".join(part for part in (finding.code, *where) if part)
            paragraphs.append(f"{head}\n{finding.message}")
    if len(paragraphs) == 1:
        paragraphs.append("It has no finding of its own: look at the other checks of this exercise.")
    return inert("\n\n".join(paragraphs))


def check_head(exercise: ExercisePart, check: CheckPart) -> str:
    """The same in one line: the codes of the findings, or why it is an error."""
    if check.status == "error":
        return inert(f"could not be carried out: {why_error(check)}").replace("\n", " ")
    codes = (finding.code for finding in exercise.findings if finding.check == check.name)
    return inert(", ".join(dict.fromkeys(codes)) or check.status).replace("\n", " ")


def _cases(check: CheckPart) -> str:
    if len(check.cases) < 2:
        return "Failed."
    failed = [case for case in check.cases if case.status != "passed"]
    return f"Failed in {len(failed)} of {len(check.cases)} cases: {'; '.join(map(_case, failed))}."


def _case(case: CaseRow) -> str:
    on = f"on {case.world_size} rank{'s' * (case.world_size != 1)}"
    return on if case.status == "failed" else f"{on} (not carried out)"
