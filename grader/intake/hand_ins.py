"""Whose hand-ins there are in what was downloaded: a folder full of them, several paths, or one archive."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from grader.intake.bulk import unpack
from grader.intake.errors import IntakeError, shown
from grader.intake.names import junk_in, plain

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".txz", ".tar.xz", ".tar.bz2")
_NO_HAND_INS = (".csv", ".err", ".html", ".log", ".out", ".txt")


@dataclass(frozen=True)
class HandIn:
    """One student's work. ``when`` is the time stamp of its newest file, seconds since the epoch. ``file`` is
    what people know it by: its path, or its name in the archive of the class."""

    student: str
    path: Path
    when: float
    file: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Naming:
    """``patterns`` find the student in the beginning of a name, by their groups ``student`` and ``id``."""

    patterns: tuple[str, ...]

    def match(self, name: str) -> re.Match[str] | None:
        return next((found for pattern in self.patterns if (found := re.match(pattern, name))), None)

    def student(self, name: str) -> str:
        """Whose a file or folder of this name is."""
        found = self.match(name)
        if not found or not found["student"].strip():
            return _without_suffix(name)
        return "_".join(part.strip() for part in (found["student"], found.groupdict().get("id")) if part)


def find_hand_ins(
    paths: Sequence[Path], lab_files: tuple[str, ...], naming: Naming, unpacked: Path
) -> tuple[HandIn, ...]:
    """One hand-in for each student, in the order of their names; of several attempts, the newest.

    A folder that holds a lab file is one hand-in, any other folder holds one in each of its entries, and so
    does an archive whose members carry students' names: it is unpacked below ``unpacked``. Raises
    `IntakeError` for a path that cannot be read, and when there is nothing in any of them.
    """
    found: list[HandIn] = []
    for number, path in enumerate(paths):
        if not path.exists():
            raise IntakeError(
                f"{shown(str(path))} does not exist.", "There is nothing to grade.", "Check the path."
            )
        if path.is_dir():
            found += _in_folder(path if path.name else path.resolve(), lab_files, naming)
        elif _is_archive(path) and (folder := unpack(path, unpacked / str(number), naming.match)):
            members = _in_folder(folder, lab_files, naming)
            inside = str(unpacked / str(number))
            found += [replace(m, file=f"{path}{str(m.path).removeprefix(inside)}") for m in members]
        else:
            found.append(_one(path, naming))
    if not found:
        raise IntakeError(
            f"There is no hand-in in {', '.join(shown(str(path)) for path in paths[:5])}.",
            "A class is a folder with an archive, a folder or a Python file for each student.",
            "Check the path.",
        )
    return tuple(_newest(found))


def _in_folder(folder: Path, lab_files: tuple[str, ...], naming: Naming) -> list[HandIn]:
    entries = sorted(entry for entry in folder.iterdir() if not junk_in((entry.name,)))
    if any(plain(entry.name) in {plain(file) for file in lab_files} for entry in entries):
        return [_one(folder, naming)]
    only_folder = len(entries) == 1 and entries[0].is_dir()
    if only_folder and not naming.match(entries[0].name):  # a folder around the class
        return _in_folder(entries[0], lab_files, naming) or [_one(entries[0], naming)]
    # What is no form of a hand-in is refused with a sentence, which is better than a student who is missing.
    wanted = (entry for entry in entries if entry.is_dir() or entry.suffix.casefold() not in _NO_HAND_INS)
    return [_one(entry, naming) for entry in wanted]


def _one(path: Path, naming: Naming) -> HandIn:
    """Where a folder holds one archive and nothing else, the archive is the hand-in."""
    inside = path
    if path.is_dir() and not path.is_symlink():
        entries = [entry for entry in path.iterdir() if not junk_in((entry.name,))]
        if len(entries) == 1 and _is_archive(entries[0]):
            inside = entries[0]
    return HandIn(naming.student(path.name), inside, _when(inside), str(inside))


def _newest(found: Sequence[HandIn]) -> Iterator[HandIn]:
    by_student: dict[str, list[HandIn]] = {}
    for hand_in in found:
        by_student.setdefault(hand_in.student, []).append(hand_in)
    for _, attempts in sorted(by_student.items()):
        *older, newest = sorted(attempts, key=lambda attempt: (attempt.when, attempt.path.name))
        if older:
            at = datetime.fromtimestamp(newest.when).strftime("%Y-%m-%d %H:%M:%S")
            left_out = ", ".join(shown(attempt.path.name) for attempt in older)
            note = (
                f"Of {len(attempts)} attempts the newest was graded, {shown(newest.path.name)} of {at}; not: "
                f"{left_out}."
            )
            newest = replace(newest, notes=(*newest.notes, note))
        yield newest


def _when(path: Path) -> float:
    if not path.is_dir():
        return path.stat(follow_symlinks=False).st_mtime
    stamps = [
        os.stat(os.path.join(folder, file), follow_symlinks=False).st_mtime
        for folder, _, files in os.walk(path)
        for file in files
    ]
    return max(stamps, default=path.stat().st_mtime)


def _is_archive(path: Path) -> bool:
    return path.is_file() and path.name.casefold().endswith(_ARCHIVES)


def _without_suffix(name: str) -> str:
    for suffix in (*sorted(_ARCHIVES, key=len, reverse=True), ".py", ".ipynb"):
        if name.casefold().endswith(suffix):
            return name[: -len(suffix)] or name
    return name
