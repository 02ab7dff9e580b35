"""A directory, or one file, as it lies on the disk."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from grader.intake.ends import Ends, ends_of, ends_of_file
from grader.intake.entries import REGULAR, Entry, refuse_too_many
from grader.intake.errors import IntakeError, shown
from grader.intake.limits import IntakeLimits
from grader.intake.names import junk_in


def unreadable(path: Path, error: Exception) -> IntakeError:
    """The error for a path that the operating system does not let the grader read."""
    reason = getattr(error, "strerror", None) or str(error)
    return IntakeError(
        f"{shown(path.name)} cannot be read ({shown(reason)}).",
        "The grader must be able to open every file that it grades.",
        "Check the path and the permissions.",
    )


def read_bounded(path: Path, most: int) -> bytes:
    """Up to ``most`` + 1 bytes of a regular file, which shows that it is too long.

    Raises `IntakeError` for anything else: a symbolic link is not followed, a pipe not waited for.
    """
    with _open_file(path) as stream:
        return stream.read(most + 1)


@contextmanager
def _open_file(path: Path) -> Iterator[IO[bytes]]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "not a regular file")
            yield stream
    except OSError as error:
        raise unreadable(path, error) from error


class FolderSource:
    """A `Source` over a directory. Junk folders are named but not entered; links are never followed."""

    def __init__(self, root: Path, limits: IntakeLimits) -> None:
        self._root = root
        self._limits = limits

    def entries(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        seen = 0
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._root.joinpath(*folder)) as listing:
                    for item in listing:
                        seen += 1
                        if seen > self._limits.entries:
                            raise refuse_too_many(self._root.name, self._limits)
                        parts = (*folder, item.name)
                        if item.is_dir(follow_symlinks=False) and not junk_in(parts):
                            waiting.append(parts)
                        else:
                            found.append(_entry(parts, item))
            except OSError as error:
                raise unreadable(self._root.joinpath(*folder), error) from error
        return tuple(sorted(found, key=lambda entry: entry.parts))

    def read(self, wanted: Sequence[Entry]) -> list[bytes]:
        contents = []
        for entry in wanted:
            path = self._root.joinpath(*entry.parts)
            contents.append(read_bounded(path, entry.size))
            if len(contents[-1]) != entry.size:
                raise unreadable(path, OSError(0, "its length changed while it was read"))
        return contents

    def ends(self, wanted: Sequence[Entry], most: int) -> list[Ends | None]:
        return [self._ends(self._root.joinpath(*entry.parts), most) for entry in wanted]

    def _ends(self, path: Path, most: int) -> Ends | None:
        try:
            with _open_file(path) as stream:
                return ends_of_file(stream, os.fstat(stream.fileno()).st_size, most)
        except IntakeError:
            return None


def _entry(parts: tuple[str, ...], item: os.DirEntry[str]) -> Entry:
    status = item.stat(follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return Entry(parts, 0, "a symbolic link")
    regular = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)  # a folder here is junk, by name
    return Entry(parts, status.st_size, REGULAR if regular else "a device or another special file")


class SingleFile:
    """A `Source` over one Python file that was handed in by itself, under the name that the lab gives it."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._data = data

    def entries(self) -> tuple[Entry, ...]:
        return (Entry((self._name,), len(self._data)),)

    def read(self, wanted: Sequence[Entry]) -> list[bytes]:
        return [self._data for _ in wanted]

    def ends(self, wanted: Sequence[Entry], most: int) -> list[Ends | None]:
        return [ends_of(io.BytesIO(self._data), len(self._data), most) for _ in wanted]
