"""How the command line ends when it cannot go on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import typer

from grader.course import Course, find_course

WRONG_USAGE, GRADER_FAILED, INTERRUPTED = 2, 3, 130


def stop(message: object, status: int) -> NoReturn:
    """Say why on standard error, and end with the status."""
    print(f"grader: {message}", file=sys.stderr)
    raise typer.Exit(status)


def course_folder(explicit: Path | None) -> Course:
    """The course folder, found from the working directory. Raises `grader.course.CourseError`."""
    return find_course(Path.cwd(), explicit)
