"""One archive with the hand-ins of a whole class, as Moodle and Canvas give it out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.intake.entries import REGULAR, Entry
from grader.intake.errors import IntakeError, shown
from grader.intake.folder_source import read_bounded
from grader.intake.limits import IntakeLimits
from grader.intake.names import junk_in
from grader.intake.tar_source import TarSource, looks_like_tar
from grader.intake.zip_source import ZipSource

#: An archive of a class, not of one student; what is in it is looked at with the rubric's own limits. One
#: student's file of zeros says nothing against it.
_OF_A_CLASS = IntakeLimits(archive_mb=1024, entries=200_000, total_mb=8192, ratio=1 << 40)


@dataclass(frozen=True)
class Unpacked:
    """``folder`` holds the students' files and folders. ``problems`` are what is not there, or not whole: the
    name that it has or would have in ``folder``, and a sentence."""

    folder: Path
    problems: tuple[tuple[str, str], ...]


def unpack(path: Path, folder: Path, is_student: Callable[[str], object]) -> Unpacked | None:
    """Unpack an archive whose members carry students' names below ``folder``; None for an archive of another
    kind, which is one hand-in.

    ``is_student`` says whether a name carries one. Only plain files are unpacked, under checked names; what
    is wrong with one student's is no other's problem. Raises `IntakeError`.
    """
    problems: list[tuple[str, str]] = []

    def bad_name(name: str, error: IntakeError) -> None:
        pieces = [piece for piece in name.replace("\\", "/").split("/") if piece.strip(".")] or [name]
        problems.append((next((piece for piece in pieces if is_student(piece)), pieces[0]), str(error)))

    source = _opened(path, bad_name)
    if source is None:
        return None
    entries = [entry for entry in source.entries() if not junk_in(entry.parts[:1])]
    around = _folder_around(entries, is_student)
    tops = dict.fromkeys(entry.parts[len(around)] for entry in entries)
    if not any(is_student(top) for top in tops):
        return None
    wanted = []
    for entry in entries:
        if entry.kind != REGULAR:
            problems.append((entry.parts[len(around)], _not_taken(entry.path, f"it is {entry.kind}")))
        elif not junk_in(entry.parts):
            wanted.append(entry)
    written = set()
    for entry, content in source.each(wanted):
        top = entry.parts[len(around)]
        problem = str(content) if isinstance(content, IntakeError) else _write(folder, entry, content)
        if problem:
            problems.append((top, problem))
        else:
            written.add(top)
    known = written | {name for name, _ in problems}
    problems += [(top, _not_taken(top, "there is nothing in it")) for top in tops if top not in known]
    inside = folder.joinpath(*around)
    inside.mkdir(parents=True, exist_ok=True)
    return Unpacked(inside, tuple(problems))


def _opened(path: Path, bad_name: Callable[[str, IntakeError], None]) -> ZipSource | TarSource | None:
    data = read_bounded(path, _OF_A_CLASS.archive_bytes)
    if len(data) > _OF_A_CLASS.archive_bytes:
        raise IntakeError(
            f"{shown(path.name)} is larger than {_OF_A_CLASS.archive_mb} MB.",
            "The grader does not open files of that size.",
            "Unpack it, and give the folder.",
        )
    if data.startswith(b"PK"):
        return ZipSource(path.name, data, _OF_A_CLASS, bad_name)
    return TarSource(path.name, data, _OF_A_CLASS, bad_name) if looks_like_tar(data) else None


def _folder_around(entries: Sequence[Entry], is_student: Callable[[str], object]) -> tuple[str, ...]:
    """The one folder in which everything lies, if there is one that is not a student's own."""
    tops = {entry.parts[0] for entry in entries}
    if len(tops) == 1 and all(len(entry.parts) > 1 for entry in entries) and not is_student(min(tops)):
        return (tops.pop(),)
    return ()


def _write(folder: Path, entry: Entry, content: bytes) -> str:
    """Write one member; why it could not be, or "". Raises `IntakeError` when no other could be, either."""
    target = folder.joinpath(*entry.parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            file.write(content)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            os.removedirs(target.parent)  # the empty ones: who has nothing has no folder
        reason = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise IntakeError(
                f"The archive of the class cannot be unpacked ({reason}).",
                f"There is no room for it in {folder}.",
                "Make room, or unpack it yourself and give the folder.",
            ) from error
        return _not_taken(entry.path, reason)  # a name too long, or there twice
    if entry.when > 0:
        with suppress(OSError, OverflowError, ValueError):
            os.utime(target, (entry.when, entry.when))
    return ""


def _not_taken(name: str, why: str) -> str:
    return (
        f"{shown(name)} could not be taken out of the archive of the class ({shown(why)}). It is not graded. "
        "Ask for it again, as a zip or as the Python file itself."
    )
