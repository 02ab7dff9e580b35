"""Which of several hand-ins of one student is graded."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from grader.intake.errors import shown
from grader.intake.names import junk_in, plain
from grader.intake.naming import ARCHIVES, Naming

NO_HAND_INS = (".csv", ".err", ".html", ".htm", ".log", ".out", ".txt")
_UPLOADED_AGAIN = re.compile(r"-(\d+)(?=\.\w+$)")  # what Canvas appends to a name that was there already


@dataclass(frozen=True)
class HandIn:
    """One student's work. ``when`` is the time stamp of its newest file, seconds since the epoch. ``file`` is
    what people know it by: its path, or its name in the archive of the class. ``refused`` says why there is
    nothing to grade, where that is known already."""

    student: str
    path: Path
    when: float
    file: str
    notes: tuple[str, ...] = ()
    refused: str = ""


def newest(attempts: Sequence[HandIn], naming: Naming, lab_files: tuple[str, ...]) -> HandIn:
    """The one that counts, with a note of the others: the newest of those that look like the work itself."""
    *older, last = sorted(attempts, key=lambda attempt: _worth(attempt, naming, lab_files))
    if not older:
        return last
    left_out = ", ".join(shown(attempt.path.name) for attempt in older)
    taken = f"{shown(last.path.name)} of {_date(last.when)}"
    note = f"Of {len(attempts)} attempts the newest was graded, {taken}; not: {left_out}."
    unread = tuple(attempt.refused for attempt in older if attempt.refused)
    return replace(last, notes=(*last.notes, note, *unread))


def _worth(attempt: HandIn, naming: Naming, lab_files: tuple[str, ...]) -> tuple[int, float, int, str]:
    name = naming.rest(attempt.path.name)
    again = _UPLOADED_AGAIN.search(name)
    own = _UPLOADED_AGAIN.sub("", name)
    version = int(again[1]) if again else 0
    return _kind(attempt, own, lab_files), attempt.when, version, attempt.path.name


def _kind(attempt: HandIn, name: str, lab_files: tuple[str, ...]) -> int:
    """0: cannot be read. 1: no form of a hand-in, such as the text that was typed beside it. 2: another
    Python file. 3: what the lab asks for, or may be."""
    if attempt.refused:
        return 0
    if os.path.isdir(attempt.path):
        return 3 if any(_is_work(file) for _, _, files in os.walk(attempt.path) for file in files) else 1
    if name.casefold().endswith(NO_HAND_INS):
        return 1
    other_module = name.casefold().endswith(".py") and plain(name) not in {plain(file) for file in lab_files}
    return 2 if other_module else 3


def _is_work(file: str) -> bool:
    return not junk_in((file,)) and file.casefold().endswith((".py", ".ipynb", *ARCHIVES))


def _date(when: float) -> str:
    try:
        return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
