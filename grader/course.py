"""The course folder: where the staff's files and the rubric are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STAFF_UTILS = Path("assignment", "utils.py")
RUBRIC = Path("reference", "rubric.toml")


class CourseError(Exception):
    """There is no course folder where one was looked for. The message is for whoever typed the command."""


@dataclass(frozen=True)
class Course:
    """A folder with ``assignment/`` (what students get) and ``reference/`` (what they never see)."""

    root: Path

    @property
    def staff_utils(self) -> Path:
        return self.root / STAFF_UTILS

    @property
    def reference_dir(self) -> Path:
        return self.root / "reference"

    @property
    def rubric_path(self) -> Path:
        return self.root / RUBRIC


def find_course(start: Path, explicit: Path | None = None) -> Course:
    """The course at ``explicit``, or else the nearest one at or above ``start``. Raises `CourseError`."""
    if explicit is not None:
        missing = _missing_in(explicit)
        if missing:
            raise CourseError(
                f"{explicit} is not a course folder: it has no {' and no '.join(map(str, missing))}."
                " Give the folder that holds assignment/ and reference/."
            )
        return Course(explicit.resolve())
    start = start.resolve()
    for folder in (start, *start.parents):
        if not _missing_in(folder):
            return Course(folder)
    raise CourseError(
        f"No course folder was found in {start} or above it (one that holds {STAFF_UTILS} and {RUBRIC})."
        " Change into it, or name it with --course."
    )


def _missing_in(folder: Path) -> list[Path]:
    return [part for part in (STAFF_UTILS, RUBRIC) if not (folder / part).is_file()]
