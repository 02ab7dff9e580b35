"""``report.html``: the report of one submission as one file that a browser shows and prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.report.causes import Cause, causes
from grader.report.illustrated import Figure, figures
from grader.report.pages import page
from grader.report.schema import CaseRow, ExercisePart, Report


@dataclass(frozen=True)
class ExerciseView:
    """An exercise with what is worked out for its reader. ``world_size`` is the widest of its cases."""

    number: int
    part: ExercisePart
    causes: tuple[Cause, ...]
    figures: tuple[Figure, ...]
    world_size: int
    errors: tuple[tuple[str, str], ...]

    @property
    def open(self) -> bool:
        """Whether there is more to read than that it is right."""
        return self.part.status not in ("passed", "skipped")


def render_html(report: Report, title: str | None = None) -> str:
    """The page. It has no script, asks nothing of the network, and shows whatever a student wrote as text.

    ``title`` is the window's; the submission's name otherwise.
    """
    checks = dict.fromkeys(check.name for part in report.exercises for check in part.checks)
    return page(
        "report",
        title=report.submission.name if title is None else title,
        report=report,
        checks=tuple(checks),
        exercises=[_view(number, part, report.tolerance) for number, part in enumerate(report.exercises, 1)],
        sizes=_sizes,
        largest=_largest,
    )


def _view(number: int, part: ExercisePart, tolerance: float) -> ExerciseView:
    cases = [case for check in part.checks for case in check.cases]
    return ExerciseView(
        number,
        part,
        tuple(causes(part.findings)),
        figures(part, tolerance),
        max((case.world_size for case in cases), default=0),
        tuple(_errors(part)),
    )


def _errors(part: ExercisePart) -> Iterator[tuple[str, str]]:
    """Checks that could not be carried out, and why."""
    for check in part.checks:
        if check.status == "error":
            yield (
                check.name,
                next((case.detail for case in check.cases if case.detail), "it was not carried out"),
            )


def _sizes(case: CaseRow) -> str:
    return ", ".join(f"{name} {value}" for name, value in {**case.sizes, **case.arguments}.items())


def _largest(part: ExercisePart) -> float | None:
    found = (rank.max_diff for check in part.checks for case in check.cases for rank in case.ranks)
    return max((value for value in found if value is not None), default=None)
