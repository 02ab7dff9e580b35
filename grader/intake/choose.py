"""Which of a submission's files are graded, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.intake.entries import REGULAR, Entry
from grader.intake.errors import IntakeError, shown
from grader.intake.limits import IntakeLimits
from grader.intake.logs import choose_logs
from grader.intake.names import junk_in, plain, why_not_staged

Folder = tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """``files`` pairs the path below the staging directory with its entry; ``logs`` are to be read and never
    staged; ``ignored`` are (name, reason)."""

    files: tuple[tuple[str, Entry], ...]
    logs: tuple[Entry, ...]
    ignored: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def choose(name: str, entries: Sequence[Entry], lab_files: tuple[str, ...], limits: IntakeLimits) -> Choice:
    """Finds the one folder with a lab file in it and sorts every entry into staged, log or ignored.

    Raises `IntakeError` when there is no such folder or no single best one, when a member is not a plain
    file, or when what would be staged is too much or contradicts itself.
    """
    ignored: dict[str, str] = {}
    wanted: list[Entry] = []
    for entry in entries:
        if junk := junk_in(entry.parts):
            ignored[shown(junk[0])] = junk[1]
        elif entry.kind != REGULAR:
            raise _refuse_kind(name, entry)
        else:
            wanted.append(entry)
    if not wanted:
        raise IntakeError(
            f"{shown(name)} holds no files.",
            "There is nothing to grade in it.",
            f"Hand in {' or '.join(lab_files)}.",
        )

    _refuse_paths_through_files(name, wanted)
    wanted, renamed = _with_plain_names(name, wanted, lab_files)
    home, others, notes = _home(name, wanted, lab_files)
    files: list[tuple[str, Entry]] = []
    logs = choose_logs(wanted, home, others)
    for entry in wanted:
        if entry in logs:
            continue
        if reason := _reason(entry, home, others, lab_files):
            ignored[shown(entry.path)] = reason
        else:
            files.append(("/".join(entry.parts[len(home) :]), entry))
    _check_staged(name, files, limits)
    return Choice(
        tuple(sorted(files, key=lambda file: file[0])),
        logs,
        tuple(sorted(ignored.items())),
        (*renamed, *notes),
    )


def _with_plain_names(
    name: str, wanted: list[Entry], lab_files: tuple[str, ...]
) -> tuple[list[Entry], tuple[str, ...]]:
    """The entries and notes. Where no lab file is there by its own name, the one that is meant is renamed."""
    if any(entry.parts[-1] in lab_files for entry in wanted):
        return wanted, ()
    by_plain_name = {plain(file): file for file in lab_files}
    meant = [entry for entry in wanted if plain(entry.parts[-1]) in by_plain_name]
    if not meant:
        return wanted, ()
    if len(meant) > 1:
        raise IntakeError(
            f"{shown(name)} holds {shown(meant[0].path)} and {shown(meant[1].path)}, and neither has the name"
            f" {' or '.join(lab_files)}.",
            "The grader cannot tell which of them is meant.",
            "Hand in only one, under that name.",
        )
    (entry,) = meant
    file = by_plain_name[plain(entry.parts[-1])]
    others = [other for other in wanted if other is not entry]
    return [replace(entry, parts=(*entry.parts[:-1], file)), *others], (
        f"{shown(entry.parts[-1])} was taken as {file}.",
    )


def _reason(entry: Entry, home: Folder, others: tuple[Folder, ...], lab_files: tuple[str, ...]) -> str | None:
    """Why this file is not staged; None if it is."""
    inside = "/".join(entry.parts[len(home) :])
    if inside not in lab_files and inside.casefold() in lab_files:
        return f"another spelling of {inside.casefold()}"
    if entry.parts[: len(home)] != home:
        return f"outside the folder {_words(home)}"
    if any(entry.parts[: len(other)] == other for other in others):
        return "belongs to another copy of the assignment"
    return why_not_staged(entry.parts[len(home) :])


def _home(
    name: str, wanted: Sequence[Entry], lab_files: tuple[str, ...]
) -> tuple[Folder, tuple[Folder, ...], tuple[str, ...]]:
    """The folder to grade, the other folders that have a lab file, and notes on the choice."""
    homes = sorted(
        {entry.parts[:-1] for entry in wanted if entry.parts[-1] in lab_files},
        key=lambda folder: (len(folder), folder),
    )
    if not homes:
        raise _nothing_gradable(name, wanted, lab_files)
    home, others = homes[0], tuple(homes[1:])
    if others and len(others[0]) == len(home):
        raise IntakeError(
            f"{shown(name)} holds {' or '.join(lab_files)} more than once, in {_words(home)} and in"
            f" {_words(others[0])}.",
            "The grader cannot tell which of them is meant.",
            "Hand in only one.",
        )
    notes = [f"The files were inside the folder {_words(home)}."] if home else []
    if others:
        left_out = ", ".join(_words(folder) for folder in others[:5])
        notes.append(
            f"{' or '.join(lab_files)} was there more than once; the one in {_words(home)} was taken,"
            f" because it is nearest to the top, and what lies in {left_out} was left out."
        )
    return home, others, tuple(notes)


def _words(folder: Folder) -> str:
    return shown("/".join(folder) + "/") if folder else "the top folder"


def _check_staged(name: str, files: Sequence[tuple[str, Entry]], limits: IntakeLimits) -> None:
    targets = {target for target, _ in files}
    if len(targets) < len(files):
        twice = next(target for target in targets if sum(target == other for other, _ in files) > 1)
        raise IntakeError(
            f"{shown(name)} holds {shown(twice)} twice, under the same name.",
            "The grader cannot tell which of them is meant.",
            "Make the archive anew instead of adding to an old one.",
        )
    size = sum(entry.size for _, entry in files)
    if len(files) > limits.files or size > limits.files_bytes:
        raise IntakeError(
            f"{shown(name)} holds {len(files)} Python files of {size / 1024:.0f} KB together.",
            f"At most {limits.files} files and {limits.files_kb} KB are taken.",
            "Hand in only the files that your solution needs.",
        )


def _refuse_paths_through_files(name: str, wanted: Sequence[Entry]) -> None:
    files = {entry.parts for entry in wanted}
    for entry in wanted:
        if any(entry.parts[:depth] in files for depth in range(1, len(entry.parts))):
            raise IntakeError(
                f"{shown(name)} holds {shown(entry.path)}, inside something that is a file as well.",
                "No file system can hold both.",
                "Make the archive anew.",
            )


def _refuse_kind(name: str, entry: Entry) -> IntakeError:
    if entry.kind == "an encrypted file":
        return IntakeError(
            f"{shown(name)} is encrypted ({shown(entry.path)}).",
            "The grader has no password for it.",
            "Make the archive again without one.",
        )
    return IntakeError(
        f"{shown(name)} holds {entry.kind} ({shown(entry.path)}).",
        "It could lead outside the submission, so nothing was taken in.",
        "Hand in the file itself in its place, or leave it out.",
    )


def _nothing_gradable(name: str, wanted: Sequence[Entry], lab_files: tuple[str, ...]) -> IntakeError:
    paths = sorted((entry.path for entry in wanted), key=lambda path: (not path.endswith(".py"), path))
    advice = f"Give your file the name {' or '.join(lab_files)} and hand it in again."
    if any(path.casefold().endswith(".ipynb") for path in paths):
        advice = f"Export the notebook as a Python script, and hand that in as {' or '.join(lab_files)}."
    if any(path.casefold().endswith((".zip", ".tar", ".gz", ".xz")) for path in paths):
        advice = (
            "An archive inside the archive is not opened: hand in the inner one, or the files themselves."
        )
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return IntakeError(
        f"{shown(name)} holds no {' or '.join(lab_files)}, only {', '.join(map(shown, paths[:5]))}{more}.",
        "There is nothing to grade in it.",
        advice,
    )
