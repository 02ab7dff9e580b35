"""The files that learning platforms exported: read before a class is graded, filled in after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from grader.intake.naming import Naming
from grader.options import UsageError
from grader.report.canvas import CanvasExport, fill_canvas, read_canvas
from grader.report.files import write_bytes
from grader.report.filled import Filled
from grader.report.gradebook import Row
from grader.report.moodle import Worksheet, fill_moodle, read_moodle
from grader.report.sheet import SheetError

CANVAS, MOODLE = "canvas.csv", "moodle.csv"
Read = TypeVar("Read")


@dataclass(frozen=True)
class Exported:
    """What the command line names: the instructor's files, and the assignment's column in that of Canvas."""

    canvas: Path | None = None
    canvas_column: str | None = None
    moodle: Path | None = None


@dataclass(frozen=True)
class Platforms:
    """The files that are to be filled in."""

    canvas: CanvasExport | None = None
    moodle: Worksheet | None = None

    def write(self, folder: Path, students: Sequence[Row], naming: Naming) -> tuple[str, ...]:
        """Write ``canvas.csv`` and ``moodle.csv`` where they are asked for, and return what there is to tell.
        Raises OSError."""
        told: list[str] = []
        if self.canvas is not None:
            told += _written(folder / CANVAS, fill_canvas(self.canvas, students, naming))
        if self.moodle is not None:
            told += _written(folder / MOODLE, fill_moodle(self.moodle, students, naming))
        return tuple(told)


def load_platforms(exported: Exported, out: Path) -> Platforms:
    """Read the instructor's files. Raises `UsageError` for one that cannot be read or has no column to fill,
    and for one that the results in ``out`` would overwrite."""
    if exported.canvas_column is not None and exported.canvas is None:
        raise UsageError("--canvas-column names a column of the file that --canvas gives: give that, too.")
    canvas = moodle = None
    if exported.canvas is not None:
        column = exported.canvas_column
        canvas = _read(exported.canvas, out / CANVAS, lambda content: read_canvas(content, column))
    if exported.moodle is not None:
        moodle = _read(exported.moodle, out / MOODLE, read_moodle)
    return Platforms(canvas, moodle)


def _read(path: Path, written: Path, read: Callable[[bytes], Read]) -> Read:
    try:
        if written.exists() and written.samefile(path):
            raise UsageError(f"{path} is where the filled file is written: give the one that was exported.")
        return read(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except SheetError as error:
        raise UsageError(f"{path} cannot be filled in. {error}") from error


def _written(path: Path, filled: Filled) -> list[str]:
    write_bytes(path, filled.content)
    return [f"\n{path} is to be imported.", *(f"  {sentence}" for sentence in filled.sentences)]
