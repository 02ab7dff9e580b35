"""Whose hand-ins there are in what was downloaded: a folder full of them, several paths, or one archive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.intake.attempts import NO_HAND_INS, HandIn, newest
from grader.intake.bulk import Unpacked, unpack
from grader.intake.errors import IntakeError, shown
from grader.intake.folder_source import unreadable
from grader.intake.names import junk_in, plain
from grader.intake.naming import ARCHIVES, Naming, encodable


@dataclass(frozen=True)
class Found:
    """One hand-in for each student, in the order of their names; ``left_out`` are files taken for none."""

    hand_ins: tuple[HandIn, ...]
    left_out: tuple[str, ...] = ()


def find_hand_ins(paths: Sequence[Path], lab_files: tuple[str, ...], naming: Naming, unpacked: Path) -> Found:
    """The hand-ins in ``paths``; of several attempts by one student, the newest.

    A folder that holds a lab file is one hand-in, any other folder holds one in each of its entries, and so
    does an archive that is the only path and whose members carry students' names: it is unpacked in
    ``unpacked``. Raises `IntakeError` for a path that cannot be read, for a folder that may be one hand-in
    or a class, and when there is nothing in any of them.
    """
    search = _Search(lab_files, naming)
    for path in paths:
        if not path.exists():
            raise IntakeError(
                f"{shown(str(path))} does not exist.", "There is nothing to grade.", "Check the path."
            )
        if os.path.isdir(path):
            search.look_in(path if path.name else path.resolve())
        # Several archives are those of students: what one of them names its files is no other student.
        elif (
            len(paths) == 1
            and not naming.match(path.name)
            and (members := unpack(path, unpacked, naming.match))
            and not search.holds_lab_file(members.folder)
        ):
            search.look_in_archive(path, members)
        else:
            search.add(path)
    if not search.found:
        raise IntakeError(
            f"There is no hand-in in {', '.join(shown(str(path)) for path in paths[:5])}.",
            "A class is a folder with an archive, a folder or a Python file for each student.",
            "Check the path.",
        )
    by_student: dict[str, list[HandIn]] = {}
    for hand_in in search.found:
        by_student.setdefault(hand_in.student, []).append(hand_in)
    chosen = (newest(attempts, naming, lab_files) for _, attempts in sorted(by_student.items()))
    return Found(tuple(chosen), tuple(search.left_out))


class _Search:
    def __init__(self, lab_files: tuple[str, ...], naming: Naming) -> None:
        self._lab_files = {plain(file) for file in lab_files}
        self._naming = naming
        self.found: list[HandIn] = []
        self.left_out: list[str] = []

    def holds_lab_file(self, folder: Path) -> bool:
        return any(plain(name) in self._lab_files for name in _names(folder))

    def look_in(self, folder: Path) -> None:
        """Take a folder as one hand-in, or what is in it as many."""
        try:
            entries = [folder / name for name in _names(folder)]
            if self.holds_lab_file(folder):
                self._refuse_if_class(folder, entries)
                self.add(folder)
                return
            if len(entries) == 1 and self._is_class_in_a_folder(entries[0]):
                self.look_in(entries[0])
                return
        except OSError as error:
            raise unreadable(folder, error) from error
        naming = self._naming
        if not naming.fits([entry.name for entry in entries if not self._is_no_hand_in(entry)]):
            naming = Naming(())
        for entry in entries:
            # What is no form of a hand-in is refused with a sentence, better than a student who is missing.
            if self._is_no_hand_in(entry) and not naming.match(entry.name):
                self.left_out.append(entry.name)
            else:
                self.add(entry, naming)

    def look_in_archive(self, archive: Path, members: Unpacked) -> None:
        """What `look_in` does, under the names that things have in the archive, and what it did not give."""
        first = len(self.found)
        self.look_in(members.folder)
        inside = f"{members.folder}{os.sep}"
        self.found[first:] = [
            replace(one, file=encodable(f"{archive}/{str(one.path).removeprefix(inside)}"))
            for one in self.found[first:]
        ]
        for name, sentence in members.problems:
            student = self._naming.student(name, is_folder="." not in name)
            path = members.folder / name
            self.found.append(HandIn(student, path, 0.0, encodable(f"{archive}/{name}"), refused=sentence))

    def add(self, path: Path, naming: Naming | None = None) -> None:
        """Take a file or folder as one hand-in. Where a folder holds one archive and nothing else, it is that
        archive."""
        student = (naming or self._naming).student(path.name, os.path.isdir(path))
        try:
            inside = path
            if os.path.isdir(path) and not os.path.islink(path):
                names = _names(path)
                if len(names) == 1 and _is_archive(path / names[0]):
                    inside = path / names[0]
            self.found.append(HandIn(student, inside, _when(inside), encodable(str(inside))))
        except OSError as error:
            refused = str(unreadable(path, error))
            self.found.append(HandIn(student, path, 0.0, encodable(str(path)), refused=refused))

    def _refuse_if_class(self, folder: Path, entries: Sequence[Path]) -> None:
        others = [
            entry.name
            for entry in entries
            if plain(entry.name) not in self._lab_files
            and (
                _is_archive(entry)
                or (not self._is_no_hand_in(entry) and self._naming.match(entry.name))
                or (os.path.isdir(entry) and self.holds_lab_file(entry))
            )
        ]
        if others:
            beside = shown(", ".join(others[:3]))
            raise IntakeError(
                f"{shown(folder.name)} holds a file to hand in, and beside it {beside}.",
                "The grader cannot tell whether it is one hand-in or a class.",
                "Move the file into a folder of its own, or the others away.",
            )

    def _is_class_in_a_folder(self, folder: Path) -> bool:
        """Whether a single folder is put around a class, and is not one student's."""
        if not os.path.isdir(folder) or self._naming.match(folder.name) or self.holds_lab_file(folder):
            return False
        entries = [folder / name for name in _names(folder)]
        hand_ins = [e for e in entries if os.path.isdir(e) or _is_archive(e) or self._naming.match(e.name)]
        modules = [e for e in entries if e.suffix == ".py" and e not in hand_ins]
        return len(hand_ins) > 1 and not modules

    def _is_no_hand_in(self, path: Path) -> bool:
        return path.suffix.casefold() in NO_HAND_INS and not os.path.isdir(path)


def _names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not junk_in((name,)))


def _when(path: Path) -> float:
    """Of the newest file that is not junk. Raises OSError."""
    if not os.path.isdir(path):
        return path.stat(follow_symlinks=False).st_mtime
    stamps = [path.stat().st_mtime]

    def stop(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(path, onerror=stop):
        folders[:] = [name for name in folders if not junk_in((name,))]
        wanted = (name for name in files if not junk_in((name,)))
        stamps += [os.stat(os.path.join(folder, name), follow_symlinks=False).st_mtime for name in wanted]
    return max(stamps[1:], default=stamps[0])


def _is_archive(path: Path) -> bool:
    return os.path.isfile(path) and path.name.casefold().endswith(ARCHIVES)
