"""The report as Markdown (GitHub's kind).

Text that a student had a say in stands in code only: there nothing is markup, HTML, a link or a mention.
"""

from __future__ import annotations

import re
import textwrap

from grader.judge.text import clean_line
from grader.report.causes import causes, line_of, named_ranks, told_status, why_error
from grader.report.plain import defused, inert
from grader.report.schema import ExercisePart, IgnoredFile, Report

_MARKS = {"passed": "✓", "failed": "✗", "error": "!"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@!$])")
_WIDTH = 100


def markdown(report: Report) -> str:
    """The report as Markdown text: the table, the findings, what was printed and handed in, how to replay."""
    blocks = [
        f"# {_code(report.submission.name)}: {report.score:g} / {report.max_score:g}",
        f"{told_status(report).capitalize()}.",
        _table(report),
    ]
    for exercise in report.exercises:
        blocks += _exercise(exercise)
    if report.notes:
        blocks += ["## Notes", *(_block(note) for note in report.notes)]
    if report.evidence:
        blocks += ["## The logs handed in", _escaped(report.evidence.caution)]
        blocks += map(_block, report.evidence.facts)
    blocks += _handed_in(report)
    if report.command:
        blocks += [
            f"To grade this again exactly so (seed {report.seed}):",
            _block(report.command, wrap=False),
        ]
    return "\n\n".join(blocks) + "\n"


def _table(report: Report) -> str:
    names = list(dict.fromkeys(check.name for exercise in report.exercises for check in exercise.checks))
    rows = [["Exercise", *map(_escaped, names), "Score"], ["---", *[":-:"] * len(names), "--:"]]
    for exercise in report.exercises:
        marks = {check.name: _MARKS[check.status] for check in exercise.checks}
        score = f"{exercise.score:g} / {exercise.max_score:g}"
        asked = exercise.status != "skipped"
        cells = [marks.get(name, "") for name in names]
        rows.append([_escaped(exercise.title), *cells, score if asked else "skipped"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _exercise(exercise: ExercisePart) -> list[str]:
    blocks = []
    for cause in causes(exercise.findings):
        where = line_of(cause.finding)
        parts = [
            _code(cause.finding.code),
            _code(where) if where else "",
            ", ".join(map(_escaped, cause.checks)),
            named_ranks(cause.ranks),
        ]
        blocks += [" · ".join(part for part in parts if part), _block(cause.finding.message)]
    for check in exercise.checks:
        if check.status == "error":
            blocks += [
                f"{_escaped(check.name)} could not be graded, and costs nothing:",
                _block(why_error(check)),
            ]
    for row in exercise.output:
        blocks += [f"Printed by rank {row.rank}:", _block(row.text, wrap=False)]
    return [f"## {_escaped(exercise.title)}", *blocks] if blocks else []


def _handed_in(report: Report) -> list[str]:
    part = report.submission
    lines = [f"- graded: {_code(name)}" for name in part.files]
    lines += [f"- not used: {_ignored(file)}" for file in part.ignored]
    return ["## Handed in", "\n".join([*lines, f"- sha256: {_code(part.sha256)}"])]


def _ignored(file: IgnoredFile) -> str:
    return f"{_code(file.name)} ({_code(file.reason)})"


def _escaped(text: str) -> str:
    """One line of text in which every character stands for itself."""
    return _SPECIAL.sub(r"\\\1", clean_line(text))


def _code(text: str) -> str:
    """Text in one line, as code."""
    text = defused(clean_line(text, 500))
    fence = "`" * (_longest_run(text) + 1)
    edge = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def _block(text: str, wrap: bool = True) -> str:
    """Text as a block of code, its long lines folded."""
    text = inert(text)
    if wrap:
        text = defused(
            "\n".join(textwrap.fill(line, _WIDTH, break_on_hyphens=False) for line in text.split("\n"))
        )
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
