"""A progress bar while a submission is graded: on a terminal only, and on standard error."""

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
)
from rich.progress import (
    Progress as Bar,
)

from grader.check import Progress
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
