"""``grader render``: lists the clusters, writes a job script, or says what is wrong with one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

from grader.clusters.choose import SettingsError, choose_settings
from grader.clusters.load import ProfileError, find_profile, profile_paths
from grader.clusters.profile import Settings
from grader.clusters.render import render
from grader.clusters.table import cluster_table
from grader.clusters.verify import Verified, verify
from grader.course import CourseError
from grader.intake.errors import shown
from grader.stop import WRONG_USAGE, course_folder, stop

FINDINGS = 1


@dataclass(frozen=True)
class AskedRender:
    """What was typed. ``cluster`` is a name, a profile's path, or with ``verify`` a script's."""

    cluster: str | None
    settings: tuple[str, ...]
    listed: bool
    verify: bool
    out: Path | None
    course: Path | None


def render_command(asked: AskedRender) -> NoReturn:
    """Do what was typed; ends the command: 0 done or clean, 1 findings, 2 wrong usage."""
    try:
        course = _course(asked.course)
        if asked.listed:
            Console().print(cluster_table(profile_paths(course)))
            raise typer.Exit()
        if asked.cluster is None:
            stop("Name a cluster; grader render --list shows them.", WRONG_USAGE)
        if asked.verify and _is_script(asked.cluster, course):
            if asked.settings or asked.out:
                stop("--set and --out are for rendering: a script is looked at as it is.", WRONG_USAGE)
            _tell(asked.cluster, verify(Path(asked.cluster).read_bytes()))
        text, settings = _rendered(asked.cluster, asked, course)
        _make_log_folder(settings)
        if asked.out is not None:
            asked.out.write_text(text, encoding="utf-8")
        if asked.verify:
            _tell(str(asked.out or asked.cluster), verify(text.encode()))
    except FileNotFoundError as error:
        name = str(error.filename)
        if name == str(asked.out):
            stop(f"The folder of {shown(name)} does not exist: make it first.", WRONG_USAGE)
        stop(f"There is no file {shown(name)}.", WRONG_USAGE)
    except (CourseError, ProfileError, SettingsError, OSError) as error:
        stop(error, WRONG_USAGE)
    if asked.out is None:
        print(text, end="")
    raise typer.Exit()


def _course(explicit: Path | None) -> Path | None:
    """The course's folder, whose own profiles count; without one those of the grader do."""
    try:
        return course_folder(explicit).root
    except CourseError:
        if explicit is not None:
            raise
        return None


def _is_script(name: str, course: Path | None) -> bool:
    """Whether ``name`` is a script to look at, not a cluster to render for."""
    return (
        name not in profile_paths(course)
        and not name.endswith(".toml")
        and (Path(name).is_file() or "/" in name or Path(name).suffix in {".sbatch", ".slurm", ".sh"})
    )


def _rendered(cluster: str, asked: AskedRender, course: Path | None) -> tuple[str, Settings]:
    profile = find_profile(cluster, course)
    settings = choose_settings(profile, asked.settings, Path.cwd())
    return render(Path(cluster).stem if cluster.endswith(".toml") else cluster, profile, settings), settings


def _make_log_folder(settings: Settings) -> None:
    """Slurm makes no folder for logs, and a job cannot make it in time: it is made here, before sbatch."""
    if not settings.log_dir:
        return
    try:
        Path(settings.log_dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(
            f"grader: The folder for logs cannot be made here ({error.strerror}). Make it on the cluster "
            f"before sbatch: mkdir -p {settings.log_dir}",
            file=sys.stderr,
        )


def _tell(name: str, verified: Verified) -> NoReturn:
    for note in verified.notes:
        print(f"grader: {note}", file=sys.stderr)
    for finding in verified.findings:
        place = f"{name}:{finding.line}" if finding.line else name
        print(shown(f"{place}: {finding.sentences}", longest=2000))
    if not verified.findings:
        print(f"{name}: Nothing wrong was found.")
    raise typer.Exit(FINDINGS if verified.findings else 0)
