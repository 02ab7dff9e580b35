"""Taking a submission in: recognise it, choose its files, read them within limits, stage them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.intake.choose import choose
from grader.intake.detect import open_source
from grader.intake.entries import Entry, Source
from grader.intake.errors import shown
from grader.intake.limits import IntakeLimits
from grader.intake.logs import Log, room_for_each, text_of
from grader.intake.stage import stage


@dataclass(frozen=True)
class Submission:
    """What was handed in, and what became of it.

    ``name`` is the file's name without its suffix. ``sha256`` is that of the file handed in; of a
    directory, that of the staged names and contents in sorted order, and of the logs'. ``files`` are the
    staged paths, ``logs`` what was read as evidence and not staged, ``ignored`` pairs each other name with
    the reason, ``notes`` are sentences for the report.
    """

    name: str
    sha256: str
    files: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    logs: tuple[Log, ...] = ()


def take_in(path: Path, staging: Path, lab_files: tuple[str, ...], limits: IntakeLimits) -> Submission:
    """Stages the Python files of a zip, tar, directory or bare ``.py`` under ``staging``.

    ``lab_files`` are the names that make a folder gradable (``("assignment4.py",)``). Nothing is written
    but below ``staging``, and nothing at all when the submission is refused. Raises `IntakeError` for a
    submission that cannot be graded as it is, FileExistsError when ``staging`` is not empty.
    """
    opened = open_source(path, lab_files, limits)
    choice = choose(path.name or path.resolve().name, opened.source.entries(), lab_files, limits)
    names = tuple(name for name, _ in choice.files)
    contents = opened.source.read([entry for _, entry in choice.files])
    stage(staging, zip(names, contents, strict=True))
    logs, unread = _logs(opened.source, choice.logs)
    return Submission(
        name=_name(path),
        sha256=opened.sha256 or _hash_of(names, contents, logs),
        files=names,
        ignored=tuple(sorted((*choice.ignored, *unread))),
        notes=(*opened.notes, *choice.notes),
        logs=logs,
    )


def _logs(source: Source, wanted: Sequence[Entry]) -> tuple[tuple[Log, ...], list[tuple[str, str]]]:
    """The logs, and those that cannot be read, as (name, reason)."""
    logs, unread = [], []
    found = source.ends(wanted, room_for_each(len(wanted))) if wanted else []
    for entry, ends in zip(wanted, found, strict=True):
        if ends is None:
            unread.append((shown(entry.path), "not needed to run, and it cannot be read"))
        else:
            logs.append(Log(shown(entry.path), text_of(ends), ends.between))
    return tuple(logs), unread


def _name(path: Path) -> str:
    path = path if path.name not in ("", "..") else path.resolve()
    return path.name if path.is_dir() else path.stem.removesuffix(".tar")


def _hash_of(names: Sequence[str], contents: Sequence[bytes], logs: Sequence[Log]) -> str:
    """Names may not run into contents, so each content goes in as its own hash, after a zero byte."""
    whole = hashlib.sha256()
    read = [(log.name, log.text.encode("utf-8", "backslashreplace")) for log in logs]
    for name, content in (*zip(names, contents, strict=True), *read):
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()
