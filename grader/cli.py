"""The command line: parses, calls, prints."""

from __future__ import annotations

import secrets
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from grader import __version__
from grader.course import Course, CourseError, find_course
from grader.progress import shown_progress

if TYPE_CHECKING:
    from grader.options import Options

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

WRONG_USAGE, GRADER_FAILED, INTERRUPTED = 2, 3, 130

CourseOption = Annotated[
    Path | None, typer.Option(help="The course folder (default: found upwards from here).")
]


class Device(StrEnum):
    """Where ranks compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class Sandbox(StrEnum):
    """What protects the machine from a submission."""

    bwrap = "bwrap"
    none = "none"


class Launcher(StrEnum):
    """How ranks are started."""

    fork = "fork"
    torchrun = "torchrun"


def main() -> None:
    """The entry point of the ``grader`` command."""
    app()


@app.callback(invoke_without_command=True)
def _grader(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Grade distributed-PyTorch assignments."""
    if version:
        print(__version__)
        raise typer.Exit()


@app.command()
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A zip, a folder, or an assignment4.py; with --out, a class.",
            show_default=False,
        ),
    ],
    only: Annotated[list[str] | None, typer.Option(help="Ask only this exercise (may be repeated).")] = None,
    device: Annotated[Device, typer.Option(help="Where ranks compute.")] = Device.auto,
    json: Annotated[str | None, typer.Option(help="Write report.json here; - for standard output.")] = None,
    sandbox: Annotated[Sandbox, typer.Option(help="none runs the submission unprotected.")] = Sandbox.bwrap,
    launcher: Annotated[
        Launcher, typer.Option(help="torchrun starts ranks by the real command.")
    ] = Launcher.fork,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Master seed of the hidden cases, to replay.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Grade a class: write a folder for each student, and gradebook.csv.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions at once (0: what the machine bears).")] = 0,
    force: Annotated[bool, typer.Option(help="Grade again what is graded already.")] = False,
    roster: Annotated[Path | None, typer.Option(help="CSV with a row for each student of the class.")] = None,
    course: CourseOption = None,
) -> None:
    """Grade a submission, or with --out a class.

    Exit status: 0 full marks (a class: all graded), 1 marks lost, 2 wrong usage or nothing to grade in the
    file, 3 the grader itself failed.
    """
    from grader.check import check as check_submission
    from grader.intake import IntakeError
    from grader.options import Options, UsageError
    from grader.report.json_file import write_json
    from grader.report.schema import exit_status
    from grader.report.terminal import print_report
    from grader.rubric import load_rubric
    from grader.rubric_errors import RubricError
    from grader.run.sandbox import SandboxError

    options = Options(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        only=tuple(only or ()),
        device=device.value,
        sandbox=sandbox.value,
        launcher=launcher.value,
    )
    if out is not None:
        _check_class(paths, options, seed, out, jobs, force, roster, course, json)
    if len(paths) > 1 or force or jobs or roster:
        _stop(
            "Several paths, --jobs, --force and --roster are for a class: say where with --out.", WRONG_USAGE
        )
    (path,) = paths
    if json not in (None, "-") and not Path(json).parent.is_dir():
        _stop(
            f"The folder of {json} does not exist: make it first, or give another path to --json.",
            WRONG_USAGE,
        )
    try:
        folder = _course(course)
        rubric = load_rubric(folder.rubric_path)
        with shown_progress() as progress:
            graded = check_submission(path, folder, rubric, options, progress)
    except (CourseError, RubricError, IntakeError, UsageError) as error:
        _stop(error, WRONG_USAGE)
    except SandboxError as error:
        _stop(error, GRADER_FAILED)
    except OSError as error:
        _stop(error, GRADER_FAILED)
    if json != "-":
        print_report(graded.report)
    if json is not None:
        try:
            write_json(graded.report, json)
        except OSError as error:
            _stop(f"The report could not be written: {error}.", GRADER_FAILED)
    raise typer.Exit(exit_status(graded.report))


def _check_class(
    paths: list[Path],
    options: Options,
    seed: int | None,
    out: Path,
    jobs: int,
    force: bool,
    roster: Path | None,
    course: Path | None,
    json: str | None,
) -> NoReturn:
    from grader.grade_class import ClassOptions, grade_class
    from grader.intake import IntakeError
    from grader.intake.errors import shown
    from grader.options import UsageError
    from grader.progress import shown_class
    from grader.report.summary import summary
    from grader.roster import RosterError, load_roster
    from grader.rubric import load_rubric
    from grader.rubric_errors import RubricError
    from grader.run.sandbox import SandboxError

    if json is not None:
        _stop("--json is for one submission; a class has its reports in the folder of --out.", WRONG_USAGE)
    try:
        folder = _course(course)
        rubric = load_rubric(folder.rubric_path)
        of_class = ClassOptions(out, jobs, seed, force, load_roster(roster) if roster else None)
        with shown_class() as watcher:
            graded = grade_class(paths, folder, rubric, options, of_class, watcher)
    except (CourseError, RubricError, RosterError, IntakeError, UsageError) as error:
        _stop(error, WRONG_USAGE)
    except (SandboxError, OSError) as error:
        _stop(error, GRADER_FAILED)
    except KeyboardInterrupt:
        _stop(
            f"Stopped. What was finished is kept in {out}: the same command goes on from there.", INTERRUPTED
        )
    print()
    print(summary(graded.finished, graded.not_submitted), end="")
    if graded.not_in_roster:
        names = ", ".join(shown(student) for student in graded.not_in_roster)
        print(f"\nNot to be found in the roster, or twice: {names}")
    print(f"\n{out / 'gradebook.csv'} has a row for each student; {out / 'index.html'} shows the class.")
    failed = any(one.status == "error" for one in graded.finished)
    raise typer.Exit(GRADER_FAILED if failed else 0)


@app.command()
def skeleton(
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the skeletons are up to date.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Make the students' skeletons from the reference solutions."""
    from grader.student.skeleton import MarkerError, check_skeletons, write_skeletons

    try:
        folder = _course(course)
        if not check:
            for path in write_skeletons(folder.root):
                print(path.relative_to(folder.root))
            return
        drifts = check_skeletons(folder.root)
    except (CourseError, MarkerError, OSError) as error:
        _stop(error, WRONG_USAGE)
    for drift in drifts:
        print(drift.diff, end="")
    if drifts:
        _stop("The skeletons above are not those of the reference: run grader skeleton.", 1)


def _course(explicit: Path | None) -> Course:
    return find_course(Path.cwd(), explicit)


def _stop(message: object, status: int) -> NoReturn:
    print(f"grader: {message}", file=sys.stderr)
    raise typer.Exit(status)
