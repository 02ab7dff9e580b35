"""One archive with the hand-ins of a whole class, as Moodle and Canvas give it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.intake.entries import REGULAR, Entry, Source
from grader.intake.errors import IntakeError, shown
from grader.intake.folder_source import read_bounded
from grader.intake.limits import IntakeLimits
from grader.intake.names import LONGEST_PART, junk_in
from grader.intake.tar_source import TarSource, looks_like_tar
from grader.intake.zip_source import ZipSource

#: An archive of a class, not of one student; what is in it is looked at with the rubric's own limits.
_OF_A_CLASS = IntakeLimits(archive_mb=1024, entries=200_000, total_mb=8192)
_AT_ONCE = 200  # members read in one go


def unpack(path: Path, folder: Path, is_student: Callable[[str], object]) -> Path | None:
    """Unpack an archive whose members carry students' names below ``folder``, and return the folder in which
    they lie; None for an archive of another kind, which is one hand-in.

    ``is_student`` says whether a name carries one. Only plain files are unpacked, under checked names.
    """
    data = read_bounded(path, _OF_A_CLASS.archive_bytes)
    if len(data) > _OF_A_CLASS.archive_bytes:
        raise IntakeError(
            f"{shown(path.name)} is larger than {_OF_A_CLASS.archive_mb} MB.",
            "The grader does not open files of that size.",
            "Unpack it, and give the folder.",
        )
    source: Source
    if data.startswith(b"PK"):
        source = ZipSource(path.name, data, _OF_A_CLASS)
    elif looks_like_tar(data):
        source = TarSource(path.name, data, _OF_A_CLASS)
    else:
        return None
    try:
        entries = [entry for entry in source.entries() if _wanted(entry)]
    except IntakeError:
        return None  # damaged or hostile: as one hand-in it gets the sentence that it deserves
    around = _folder_around(entries, is_student)
    if not any(is_student(entry.parts[len(around)]) for entry in entries):
        return None
    for start in range(0, len(entries), _AT_ONCE):
        part = entries[start : start + _AT_ONCE]
        for entry, content in zip(part, source.read(part), strict=True):
            _write(folder.joinpath(*entry.parts), content, entry.when)
    return folder.joinpath(*around)


def _wanted(entry: Entry) -> bool:
    sound = all(len(piece.encode("utf-8", "replace")) <= LONGEST_PART for piece in entry.parts)
    return entry.kind == REGULAR and not junk_in(entry.parts) and sound


def _folder_around(entries: Sequence[Entry], is_student: Callable[[str], object]) -> tuple[str, ...]:
    """The one folder in which everything lies, if there is one that is not a student's own."""
    tops = {entry.parts[0] for entry in entries}
    if len(tops) == 1 and all(len(entry.parts) > 1 for entry in entries) and not is_student(min(tops)):
        return (tops.pop(),)
    return ()


def _write(target: Path, content: bytes, when: float) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            file.write(content)
    except OSError as error:  # two members of one name, or one that is a folder, too
        raise IntakeError(
            f"{shown(target.name)} cannot be unpacked ({error.strerror}).",
            "The archive contradicts itself, or the disk is full.",
            "Unpack it, and give the folder.",
        ) from error
    if when > 0:
        os.utime(target, (when, when))
