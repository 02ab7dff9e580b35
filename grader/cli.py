"""The command line: parses, calls, prints."""

from __future__ import annotations

import secrets
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from grader import __version__
from grader.course import Course, CourseError, find_course
from grader.progress import shown_progress

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

WRONG_USAGE, GRADER_FAILED = 2, 3

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
    path: Annotated[Path, typer.Argument(help="A zip, a folder, or an assignment4.py.", show_default=False)],
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
    course: CourseOption = None,
) -> None:
    """Grade a submission.

    Exit status: 0 full marks, 1 marks lost, 2 wrong usage or nothing to grade in the file, 3 the grader
    itself failed.
    """
    from grader.check import Options, UsageError
    from grader.check import check as check_submission
    from grader.intake import IntakeError
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
