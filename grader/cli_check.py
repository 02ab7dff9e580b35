"""``grader check``: calls, and prints what came of it, for one submission and for a class."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from grader.check import check
from grader.course import CourseError
from grader.grade_class import ClassGraded, ClassOptions, grade_class
from grader.intake import IntakeError
from grader.intake.errors import shown
from grader.options import Options, UsageError
from grader.platforms import Exported, load_platforms
from grader.progress import shown_class, shown_progress
from grader.report.audience import Audience, for_audience
from grader.report.github import log_guard
from grader.report.schema import exit_status
from grader.report.summary import summary
from grader.report.terminal import print_report
from grader.roster import RosterError, load_roster
from grader.rubric import load_rubric
from grader.rubric_errors import RubricError
from grader.run.sandbox import SandboxError
from grader.stop import GRADER_FAILED, INTERRUPTED, WRONG_USAGE, course_folder, stop
from grader.wanted import check_targets, to_standard_output, wanted_formats, write_wanted


@dataclass(frozen=True)
class Asked:
    """What was typed. ``seed`` is None where none was given: the options have one that was drawn."""

    paths: list[Path]
    options: Options
    seed: int | None
    out: Path | None
    jobs: int
    force: bool
    roster: Path | None
    exported: Exported
    course: Path | None
    json: str | None
    formats: list[str]
    audience: Audience


def check_one(asked: Asked) -> NoReturn:
    """Grade one submission, print its report and write the formats; ends the command."""
    if len(asked.paths) > 1 or asked.force or asked.jobs or asked.roster or asked.exported != Exported():
        stop(
            "Several paths, --jobs, --force, --roster, --canvas and --moodle are for a class: say where with "
            "--out.",
            WRONG_USAGE,
        )
    (path,) = asked.paths
    try:
        wanted = wanted_formats(asked.formats, asked.json)
        check_targets(wanted)
        folder = course_folder(asked.course)
        rubric = load_rubric(folder.rubric_path)
        with shown_progress() as progress:
            report = check(path, folder, rubric, asked.options, progress).report
    except (CourseError, RubricError, IntakeError, UsageError) as error:
        stop(error, WRONG_USAGE)
    except (SandboxError, OSError) as error:
        stop(error, GRADER_FAILED)
    if not to_standard_output(wanted):
        with _no_commands():
            print_report(for_audience(report, asked.audience))
    try:
        write_wanted(wanted, report, asked.audience)
    except OSError as error:
        stop(f"The report could not be written: {error}.", GRADER_FAILED)
    raise typer.Exit(exit_status(report))


def check_class(asked: Asked, out: Path) -> NoReturn:
    """Grade a class into ``out`` and print a line for each and a summary; ends the command."""
    if asked.json is not None:
        stop("--json is for one submission; a class has its reports in the folder of --out.", WRONG_USAGE)
    try:
        wanted = wanted_formats(asked.formats)
        folder = course_folder(asked.course)
        rubric = load_rubric(folder.rubric_path)
        roster = load_roster(asked.roster) if asked.roster else None
        platforms = load_platforms(asked.exported, out)
        of_class = ClassOptions(
            out, asked.jobs, asked.seed, asked.force, roster, wanted, asked.audience, platforms
        )
        with _no_commands():
            with shown_class() as watcher:
                graded = grade_class(asked.paths, folder, rubric, asked.options, of_class, watcher)
            _print_class(graded, out)
    except (CourseError, RubricError, RosterError, IntakeError, UsageError) as error:
        stop(error, WRONG_USAGE)
    except (SandboxError, OSError) as error:
        stop(error, GRADER_FAILED)
    except KeyboardInterrupt:
        stop(
            f"Stopped. What was finished is kept in {out}: the same command goes on from there.", INTERRUPTED
        )
    failed = any(one.status == "error" for one in graded.finished)
    raise typer.Exit(GRADER_FAILED if failed else 0)


def _print_class(graded: ClassGraded, out: Path) -> None:
    print()
    print(summary(graded.finished, graded.not_submitted), end="")
    if graded.not_in_roster:
        names = ", ".join(shown(student) for student in graded.not_in_roster)
        print(f"\nNot to be found in the roster, or twice: {names}")
    print(f"\n{out / 'gradebook.csv'} has a row for each student; {out / 'index.html'} shows the class.")
    for sentence in graded.told:
        print(sentence)


@contextmanager
def _no_commands() -> Iterator[None]:
    """In GitHub Actions, no line that is printed meanwhile is taken for a command: a student may have written
    it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    begin, end = log_guard(secrets.token_hex(16))
    print(begin, flush=True)
    try:
        yield
    finally:
        print(end, flush=True)
