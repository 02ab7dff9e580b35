"""A progress bar while a submission or a class is graded: on a terminal only, and on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)

from grader.batch import Finished
from grader.check import Progress
from grader.grade_class import Watcher, lines_of
from grader.intake.errors import shown
from grader.intake.hand_ins import Found
from grader.job import Job


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Progress callbacks that draw a bar, or nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield Progress()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting the sandbox", total=None)

        def planned(cases: int) -> None:
            bar.update(task, total=cases, description="importing torch")

        def settled(job: Job, cases: int) -> None:
            bar.update(
                task, advance=cases, description=f"{', '.join(job.exercises)} on {job.world_size} ranks"
            )

        yield Progress(planned, settled)


@contextmanager
def shown_class() -> Iterator[Watcher]:
    """A line for each hand-in as it is done, on standard output; on a terminal a bar below them."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("finding hand-ins", total=None)

        def planned(found: Found, at_once: int) -> None:
            print(f"{len(found.hand_ins)} hand-ins, {at_once} at once", flush=True)
            if found.left_out:
                print(f"Taken for no hand-in: {shown(', '.join(found.left_out), 1000)}", flush=True)
            bar.update(task, total=len(found.hand_ins), description="grading")

        def finished(one: Finished) -> None:
            for line in lines_of(one):
                print(line, flush=True)
            bar.update(task, advance=1)

        yield Watcher(planned, finished)
