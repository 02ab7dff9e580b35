"""The command line: parses, calls, prints."""

from __future__ import annotations

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader import __version__
from grader.course import CourseError
from grader.stop import WRONG_USAGE, course_folder, stop

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

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


class Shown(StrEnum):
    """Who reads the report."""

    student = "student"
    instructor = "instructor"


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
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=FILE]",
            help="Write the report as json, html, md, junit, gradescope or github (may be repeated; - for "
            "standard output).",
        ),
    ] = None,
    audience: Annotated[
        Shown, typer.Option(help="student leaves out what gives hidden cases away.")
    ] = Shown.instructor,
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
    canvas: Annotated[
        Path | None, typer.Option(help="Gradebook exported by Canvas: filled in as DIR/canvas.csv.")
    ] = None,
    canvas_column: Annotated[
        str | None, typer.Option(help="Title or id of the assignment there, if there are several.")
    ] = None,
    moodle: Annotated[
        Path | None, typer.Option(help="Moodle's offline worksheet: filled in as DIR/moodle.csv.")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Grade a submission, or with --out a class.

    Exit status: 0 full marks (a class: all graded), 1 marks lost, 2 wrong usage or nothing to grade in the
    file, 3 the grader itself failed.
    """
    from grader.cli_check import Asked, check_class, check_one
    from grader.options import Options
    from grader.platforms import Exported

    options = Options(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        only=tuple(only or ()),
        device=device.value,
        sandbox=sandbox.value,
        launcher=launcher.value,
    )
    exported = Exported(canvas, canvas_column, moodle)
    formats = format or []
    asked = Asked(
        paths, options, seed, out, jobs, force, roster, exported, course, json, formats, audience.value
    )
    if out is not None:
        check_class(asked, out)
    check_one(asked)


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
        folder = course_folder(course)
        if not check:
            for path in write_skeletons(folder.root):
                print(path.relative_to(folder.root))
            return
        drifts = check_skeletons(folder.root)
    except (CourseError, MarkerError, OSError) as error:
        stop(error, WRONG_USAGE)
    for drift in drifts:
        print(drift.diff, end="")
    if drifts:
        stop("The skeletons above are not those of the reference: run grader skeleton.", 1)


@app.command()
def render(
    cluster: Annotated[
        str | None,
        typer.Argument(
            metavar="[CLUSTER|FILE]",
            help="A cluster of --list or a profile.toml; with --verify also a job script.",
            show_default=False,
        ),
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a setting (may be repeated).")
    ] = None,
    list: Annotated[bool, typer.Option("--list", help="Show the clusters that are known.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Say what is wrong with the script.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the script here.")] = None,
    course: CourseOption = None,
) -> None:
    """Make a cluster's job script, or look at a job script that is there.

    Exit status: 0 done, or nothing wrong was found; 1 something was found; 2 wrong usage.
    """
    from grader.cli_render import AskedRender, render_command

    render_command(AskedRender(cluster, tuple(set or ()), list, verify, out, course))
