"""The formats that a person asks for, and where each goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.options import UsageError
from grader.report.audience import Audience
from grader.report.files import STANDARD_OUTPUT, write_to
from grader.report.formats import FORMATS, Format, rendered
from grader.report.schema import Report

KEPT = "report.json"  # of a class: what a result is taken up again from
MADE_ALWAYS = (KEPT, "report.html")  # of a class: by `grader.results`, and always the instructor's
_FILLED_IN = ("canvas", "moodle")


@dataclass(frozen=True)
class Wanted:
    """A format, and the file that was named for it (None: the format's own name)."""

    made: Format
    file: str | None = None

    @property
    def target(self) -> str:
        return self.made.file if self.file is None else self.file


def wanted_formats(texts: Iterable[str], json: str | None = None) -> tuple[Wanted, ...]:
    """What ``--format`` and ``--json`` ask for: each text is NAME or NAME=FILE. Raises `UsageError`."""
    texts = [*texts, *([] if json is None else [f"json={json}"])]
    return tuple(_wanted(text) for text in texts)


def _wanted(text: str) -> Wanted:
    name, named, file = text.partition("=")
    if name in _FILLED_IN:
        raise UsageError(
            f"The file for {name.capitalize()} is the one that it exported, filled in: name that with "
            f"--{name} EXPORTED.csv, for a class (--out)."
        )
    if name not in FORMATS:
        raise UsageError(f"There is no format {name}. The formats are {', '.join(FORMATS)}.")
    if named and not file:
        raise UsageError(
            f"--format {text} names no file: write {name}=FILE, or {name} alone for {name}'s own."
        )
    return Wanted(FORMATS[name], file if named else None)


def check_targets(wanted: Sequence[Wanted]) -> None:
    """Raises `UsageError` where a file of one submission cannot be written, or would be written twice."""
    targets: set[str] = set()
    for one in wanted:
        target = one.target
        place = target if target == STANDARD_OUTPUT else str(Path(target).absolute())
        if place in targets:
            where = "standard output" if target == STANDARD_OUTPUT else target
            raise UsageError(f"Two formats would go to {where}: give each a file of its own.")
        targets.add(place)
        if target != STANDARD_OUTPUT and not Path(target).parent.is_dir():
            raise UsageError(
                f"The folder of {target} does not exist: make it first, or give {one.made.name} another file."
            )


def check_for_class(wanted: Sequence[Wanted], audience: Audience) -> None:
    """Raises `UsageError` for what cannot be had in a class, where each student's folder gets each file."""
    for one in wanted:
        if one.file is not None:
            raise UsageError(
                f"--format {one.made.name}={one.file} names one file, and a class has one for each student, "
                f"{one.made.file_in_class(audience)} in the student's folder in --out: leave out ={one.file}."
            )
        if one.made.file == KEPT and audience != "instructor":
            raise UsageError(
                f"{KEPT} in a student's folder is what the class is taken up again from, and is always the "
                "instructor's: choose another format for students, or leave out --audience."
            )


def to_standard_output(wanted: Iterable[Wanted]) -> bool:
    """Whether one of them goes there, so that nothing else may."""
    return any(one.target == STANDARD_OUTPUT for one in wanted)


def write_wanted(wanted: Iterable[Wanted], report: Report, audience: Audience) -> None:
    """Write all formats of one submission. Raises OSError."""
    for one in wanted:
        write_to(one.target, rendered(report, one.made, audience))
