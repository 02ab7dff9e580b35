"""What is kept of a class: a folder for each student, and what a result was made from.

A result is used again when everything that it depends on is the same. Files are replaced in one step, the
report before the note that says that it is there: whatever interrupts a run, a result is whole or not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import grader
from grader.course import Course
from grader.intake.errors import IntakeError
from grader.intake.folder_source import read_bounded
from grader.intake.names import junk_in
from grader.report.files import write_text
from grader.report.formats import FORMATS
from grader.report.html import render_html
from grader.report.schema import Report
from grader.rubric import Rubric

_LIKE_A_SAFE_ONE = re.compile(r"-[0-9a-f]{16}$")
_LARGEST_HASHED = 1 << 30  # bytes
_LARGEST_READ = 64 << 20  # bytes, of a file of ours
#: Whatever files that somebody changed may raise, deeply nested JSON for instance.
_UNUSABLE = (OSError, IntakeError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_PLAIN = re.compile(r"[^\w.@+ -]", re.ASCII)
_LONGEST = 80
_PAGE = "report.html"  # the instructor's, whatever the audience: what is handed out has a name of its own
# No student's folder:
_OURS = ("", "class.json", "gradebook.csv", "index.html", "canvas.csv", "moodle.csv")
_CHECKS_OF_HIDDEN = {"hidden", "input_gradient"}  # those that ask hidden cases (see `grader.cases`)


@dataclass(frozen=True)
class Basis:
    """What a result depends on, as hashes: what was handed in, and what each exercise was asked. ``points``
    only decide what the verdicts are worth."""

    hand_in: str
    asked: dict[str, str]
    points: str


@dataclass(frozen=True)
class Refused:
    """A hand-in with nothing to grade in it, and the sentence that says why."""

    sentence: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stored:
    """One student's result."""

    student: str
    file: str
    basis: Basis
    outcome: Report | Refused
    graded_at: str


class Results:
    """The folder ``--out``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seed(self, otherwise: int) -> int:
        """The class's master seed: a class is asked the same however often the run is taken up again."""
        path = self.folder / "class.json"
        try:
            seed = json.loads(_read(path))["seed"]
            if type(seed) is int and seed >= 0:
                return seed
        except _UNUSABLE:
            pass
        self.set_seed(otherwise)
        return otherwise

    def set_seed(self, seed: int) -> None:
        """Ask the class by this master seed from now on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "class.json", json.dumps({"seed": seed}) + "\n")

    def place(self, student: str) -> Path:
        """The student's folder. Names that lead elsewhere, or are too long, get a safe one of their own."""
        plain = _PLAIN.sub("_", student).strip(" .")[:_LONGEST]
        reserved = plain.casefold() in _OURS or _LIKE_A_SAFE_ONE.search(plain)
        if plain != student or reserved:
            digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
            plain = f"{plain}-{digest[:16]}"
        return self.folder / plain

    def load(self, student: str) -> Stored | None:
        """What is there of a student; None where there is nothing that can be used."""
        stored = self._load(self.place(student))
        return stored if stored is not None and stored.student == student else None

    def others(self, students: Collection[str]) -> Iterator[Stored]:
        """What is there of anybody else, from earlier runs, in the order of the folders' names."""
        for place in sorted(path for path in self.folder.iterdir() if path.is_dir()):
            stored = self._load(place)
            if stored is not None and stored.student not in students and self.place(stored.student) == place:
                yield stored

    def _load(self, place: Path) -> Stored | None:
        try:
            note: dict[str, Any] = json.loads(_read(place / "result.json"))
            basis = Basis(**note["basis"])
            if not all(type(text) is str for pair in basis.asked.items() for text in pair):
                return None
            outcome: Report | Refused
            if note["refused"] is not None:
                outcome = Refused(str(note["refused"]), tuple(map(str, note["notes"])))
            else:
                text = _read(place / "report.json")
                if hashlib.sha256(text).hexdigest() != note["report"]:
                    return None
                outcome = Report.from_json(text)
            return Stored(str(note["student"]), str(note["file"]), basis, outcome, str(note["graded_at"]))
        except _UNUSABLE:
            return None

    def save(self, stored: Stored) -> None:
        """Write a result; what was made from an earlier one (see `write_beside`) goes. Raises OSError."""
        place = self._real_place(stored.student)
        place.mkdir(parents=True, exist_ok=True)
        names = (name for made in FORMATS.values() for name in made.files if name != "report.json")
        made = (place / name for name in names)
        for old in (*place.glob(".*.partial"), *made):  # the partial ones are of a run that was killed
            with contextlib.suppress(OSError):
                old.unlink()
        refused = stored.outcome if isinstance(stored.outcome, Refused) else None
        digest = None
        if isinstance(stored.outcome, Report):
            text = stored.outcome.to_json()
            digest = hashlib.sha256(text.encode()).hexdigest()
            write_text(place / "report.json", text)
        note = {
            "student": stored.student,
            "file": stored.file,
            "basis": asdict(stored.basis),
            "refused": refused and refused.sentence,
            "notes": refused.notes if refused else (),
            "report": digest,
            "graded_at": stored.graded_at,
        }
        write_text(place / "result.json", json.dumps(note, indent=2) + "\n")
        if refused:
            with contextlib.suppress(OSError):
                (place / "report.json").unlink()  # of an earlier hand-in

    def show(self, stored: Stored) -> None:
        """Make the instructor's page of a result that has a report, unless it is there. Raises OSError."""
        if isinstance(stored.outcome, Report) and not (self.place(stored.student) / _PAGE).exists():
            self.write_beside(stored.student, _PAGE, render_html(stored.outcome, stored.student))

    def page(self, student: str) -> str:
        """The path of the instructor's page of a student from the folder; empty where there is none."""
        path = self.place(student) / _PAGE
        return path.relative_to(self.folder).as_posix() if path.is_file() else ""

    def write_beside(self, student: str, name: str, text: str) -> None:
        """Write a file that is made from the student's result. Raises OSError."""
        write_text(self._real_place(student) / name, text)

    def _real_place(self, student: str) -> Path:
        place = self.place(student)
        if place.is_symlink():
            raise OSError(f"{place} is a link, and leads out of the results")
        return place


def hashes_of_asked(course: Course, rubric: Rubric, options: Iterable[object]) -> dict[str, str]:
    """For each exercise, a hash of all that decides its verdicts, beside the hand-in: what the rubric asks of
    it, the reference, the staff's files, this grader, and the options of the run."""
    files = (course.reference_dir / f"{rubric.lab}.py", course.staff_utils)
    common = [
        _hash_of_grader(),
        *map(str, options),
        *(hashlib.sha256(path.read_bytes()).hexdigest() for path in files),
        rubric.model_dump(mode="json", include={"lab", "tolerance", "limits", "intake", "baseline"}),
    ]
    hidden = [case.model_dump(mode="json") for case in rubric.hidden]
    return {
        name: _hash_of(
            [common, sorted(part.points), hidden if _CHECKS_OF_HIDDEN & part.points.keys() else []]
        )
        for name, part in rubric.exercises.items()
    }


def _read(path: Path) -> bytes:
    return read_bounded(path, _LARGEST_READ)


def _hash_of_grader() -> str:
    """The grader's version, to the last changed line, and that of torch."""
    folder = Path(grader.__file__).parent
    code = {path.relative_to(folder).as_posix(): _content(path) for path in sorted(folder.rglob("*.py"))}
    return _hash_of([grader.__version__, metadata.version("torch"), code])


def _hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_of_points(rubric: Rubric) -> str:
    """A hash of what the checks are worth."""
    return _hash_of(rubric.worth)


def hash_of_hand_in(path: Path) -> str:
    """A hash of all that the intake looks at: the name, and a file's content or that of a folder's files with
    their names, without junk. Raises OSError."""
    whole = hashlib.sha256(os.fsencode(path.name) + b"\0")
    path = path.resolve(strict=True)  # as the intake follows a link that is the hand-in itself
    if not path.is_dir():
        whole.update(_content(path).encode())
        return whole.hexdigest()
    for folder, folders, files in os.walk(path, onerror=_raise):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = sorted(name for name in folders if not junk_in((name,)) and name not in links)
        for name in sorted([*files, *folders, *links]):
            inside = Path(folder, name)
            whole.update(os.fsencode(inside.relative_to(path)) + b"\0")
            whole.update(b"a folder" if name in folders else _content(inside).encode())
    return whole.hexdigest()


def _raise(error: OSError) -> None:
    raise error


def _content(file: Path) -> str:
    status = file.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):  # the intake refuses it, by its kind
        return f"a file of mode {status.st_mode:o}"
    if status.st_size > _LARGEST_HASHED:  # and this by its size
        return f"{status.st_size} bytes"
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
