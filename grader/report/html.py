"""``report.html``: the report of one submission as one file that a browser shows and prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.report.asked import ASKED
from grader.report.causes import Cause, causes, told_status
from grader.report.illustrated import Figure, figures
from grader.report.pages import page
from grader.report.schema import CaseRow, ExercisePart, OutputRow, Report

_MOST_IGNORED = 200  # files that are named; an environment that was handed in has thousands


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
        asked={name: ASKED[name] for name in checks if name in ASKED},
        standing=_standing(report),
        most_ignored=_MOST_IGNORED,
        asked_with=_asked_with,
        largest=lambda part: _largest(part, report.tolerance),
        never_ended=_never_ended,
        printed_in=_printed_in,
    )


def _standing(report: Report) -> str:
    """What became of it, in a few words."""
    asked = sum(part.status != "skipped" for part in report.exercises)
    if report.status == "passed" and asked < len(report.exercises):
        return f"Full marks in what was asked ({asked} of {len(report.exercises)})"
    return (words := told_status(report))[0].upper() + words[1:]


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


def _asked_with(case: CaseRow) -> str:
    if case.seed is None:
        return f"{_ranks(case)}, numbers not shown"
    sizes = (f"{name} {value}" for name, value in {**case.sizes, **case.arguments}.items())
    return ", ".join((f"seed {case.seed}", *sizes))


def _ranks(case: CaseRow) -> str:
    return f"{case.world_size} rank{'s' * (case.world_size != 1)}"


def _largest(part: ExercisePart, tolerance: float) -> float | None:
    """The largest difference that is known; None where it would tell of a failed exercise that it is right,
    because what failed left nothing to compare."""
    found = (rank.max_diff for check in part.checks for case in check.cases for rank in case.ranks)
    largest = max((value for value in found if value is not None), default=None)
    misleading = part.status in ("failed", "missing") and largest is not None and largest <= tolerance
    return None if misleading else largest


def _never_ended(case: CaseRow) -> frozenset[int]:
    """Ranks that began the case and did not come to its end, as far as it is known."""
    return frozenset(row.rank for row in case.timeline if row.end is None)


def _printed_in(part: ExercisePart, output: OutputRow) -> str:
    """In which case a rank printed that, as far as it is known."""
    cases = next((check.cases for check in part.checks if check.name == output.check), ())
    if output.case is None or output.case >= len(cases):
        return f"in a case of {output.check}" if output.check else ""
    case = cases[output.case]
    seed = "" if case.seed is None else f", seed {case.seed}"
    return f"in case {output.case + 1} of {len(cases)} of {output.check}: {_ranks(case)}{seed}"
