"""The report as a person reads it in a terminal."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.report.causes import causes, place, told_status, why_error
from grader.report.schema import ExercisePart, Report

_WIDE = 100  # columns of a terminal that has room for whole headings
_STYLES = {"passed": "green", "failed": "red", "missing": "red", "error": "yellow", "skipped": "dim"}
_MARKS = {"passed": "✓", "failed": "✗", "error": "!"}
_ASCII_MARKS = {"passed": "ok", "failed": "x", "error": "!"}


def render_terminal(report: Report, ascii_only: bool = False, narrow: bool = False) -> RenderableType:
    """A table of exercises and checks, the findings below it, the total, and how to grade it again where the
    report tells.

    No text of the report is read as markup.
    """
    parts: list[RenderableType] = [_table(report, _ASCII_MARKS if ascii_only else _MARKS, ascii_only, narrow)]
    for exercise in report.exercises:
        parts.extend(_exercise_findings(exercise))
    parts.append(Text(""))
    parts.append(_total(report))
    parts.extend(Text(f"Note: {note}", style="yellow") for note in report.notes)
    parts.extend(Text(f"Log (no proof): {fact}", style="yellow") for fact in _of_the_logs(report))
    if report.command:
        parts.append(
            Text(f"To grade this again exactly so (seed {report.seed}): {report.command}", style="dim")
        )
    return Group(*parts)


def print_report(report: Report, stream: TextIO | None = None, width: int | None = None) -> None:
    """Print the report, as wide as the terminal, with colours only when ``stream`` is one.

    A character that the stream cannot encode becomes ``?``.
    """
    stream = stream or sys.stdout
    terminal = stream.isatty()
    encoding = stream.encoding or "utf-8"
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=terminal,
        color_system="standard" if terminal and "NO_COLOR" not in os.environ else None,
        width=width or (shutil.get_terminal_size().columns if terminal else 100),
        highlight=False,
        legacy_windows=False,
    )
    console.print(render_terminal(report, not encoding.lower().startswith("utf"), console.width < _WIDE))
    lines = "\n".join(line.rstrip() for line in text.getvalue().split("\n"))
    stream.write(lines.encode(encoding, "replace").decode(encoding))
    stream.flush()


def _table(report: Report, marks: dict[str, str], ascii_only: bool, narrow: bool) -> Table:
    names = tuple(dict.fromkeys(check.name for exercise in report.exercises for check in exercise.checks))
    table = Table(
        box=box.ASCII2 if ascii_only else box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0) if narrow else (0, 1),
    )
    table.add_column("Exercise", overflow="fold")
    for name in names:
        # Broken where its words are, so that all exercises have a line each on 80 columns.
        table.add_column(Text(name.replace("_", "\n") if narrow else name), justify="center", overflow="fold")
    table.add_column("Score", justify="right", overflow="fold")
    table.add_column("Max diff", justify="right", overflow="fold")
    for exercise in report.exercises:
        checks = {check.name: check.status for check in exercise.checks}
        cells = [
            Text(marks[checks[name]], style=_STYLES[checks[name]]) if name in checks else Text("")
            for name in names
        ]
        table.add_row(
            Text(exercise.name, style=_STYLES[exercise.status]), *cells, _score(exercise), _largest(exercise)
        )
    return table


def _score(exercise: ExercisePart) -> Text:
    if exercise.status == "skipped" or (exercise.status == "error" and not exercise.max_score):
        return Text(exercise.status, style=_STYLES[exercise.status])
    return Text(f"{exercise.score:g} / {exercise.max_score:g}")


def _largest(exercise: ExercisePart) -> Text:
    found = [
        rank.max_diff
        for check in exercise.checks
        for case in check.cases
        for rank in case.ranks
        if rank.max_diff is not None
    ]
    return Text(f"{max(found):.1e}" if found else "-")


def _exercise_findings(exercise: ExercisePart) -> list[RenderableType]:
    """The exercise's name and a paragraph for each cause; errors of the grader are told as such."""
    paragraphs: list[RenderableType] = []
    for cause in causes(exercise.findings):
        head = Text.assemble((cause.finding.code, "bold red"), "  ", (place(cause), "dim"))
        paragraphs += [
            Padding(head, (0, 0, 0, 2), expand=False),
            Padding(Text(cause.finding.message), (0, 0, 0, 4), expand=False),
        ]
    for check in exercise.checks:
        if check.status == "error":
            text = f"{check.name} could not be graded, and costs nothing: {why_error(check)}"
            paragraphs.append(Padding(Text(text, style="yellow"), (0, 0, 0, 2), expand=False))
    return [Text(""), Text(exercise.title, style="bold"), *paragraphs] if paragraphs else []


def _of_the_logs(report: Report) -> Sequence[str]:
    """The weightiest of what the logs say, where they are not the whole log of this code."""
    logs = report.evidence
    return logs.facts[:2] if logs and (logs.complete is False or logs.consistent is False) else ()


def _total(report: Report) -> Text:
    total = f"{report.submission.name}: {report.score:g} / {report.max_score:g}"
    return Text.assemble((total, f"bold {_STYLES[report.status]}"), f"  {told_status(report)}")
