"""Which form a submission has: told by what is in the file, not by its suffix."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from grader.intake.entries import Source
from grader.intake.errors import IntakeError, shown
from grader.intake.folder_source import FolderSource, SingleFile, read_bounded, unreadable
from grader.intake.limits import IntakeLimits
from grader.intake.tar_source import TarSource, looks_like_tar
from grader.intake.unpacking import packing_of
from grader.intake.zip_source import ZipSource

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
OTHER_ARCHIVES = {
    b"Rar!\x1a\x07": "a RAR archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
}


@dataclass(frozen=True)
class Opened:
    """A submission that has been recognised. ``sha256`` is None where there is no single file to hash."""

    source: Source
    sha256: str | None = None
    notes: tuple[str, ...] = ()


def open_source(path: Path, lab_files: tuple[str, ...], limits: IntakeLimits) -> Opened:
    """Recognises ``path``. Raises `IntakeError` when it is none of the forms that are accepted."""
    try:
        path = path.resolve(strict=True)
        is_folder = path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # missing, a loop of links, a zero byte in it
        raise unreadable(path, error) from error
    if is_folder:
        return Opened(FolderSource(path, limits))

    data = read_bounded(path, limits.archive_bytes)
    name = path.name
    if not data:
        raise IntakeError(
            f"{shown(name)} is empty (0 bytes).",
            "The upload or the copy may have failed.",
            "Hand the file in again.",
        )
    if len(data) > limits.archive_bytes:
        raise IntakeError(
            f"{shown(name)} is larger than {limits.archive_mb} MB.",
            "The grader does not open files of that size.",
            "Hand in only your Python files and the log.",
        )
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(ZIP_MAGIC):
        return Opened(ZipSource(name, data, limits), digest)
    if looks_like_tar(data):
        return Opened(TarSource(name, data, limits), digest)
    if packing := packing_of(data):
        raise IntakeError(
            f"{shown(name)} is compressed by {packing}, but what is inside is not a tar archive.",
            "It is damaged, was cut off, or is a single compressed file.",
            "Hand in a zip, a tar.gz, or the .py file itself.",
        )
    if name.casefold().endswith(".py"):
        return _single_file(name, data, digest, lab_files)
    raise _unknown(name, data, lab_files)


def _single_file(name: str, data: bytes, digest: str, lab_files: tuple[str, ...]) -> Opened:
    if name in lab_files:
        return Opened(SingleFile(name, data), digest)
    if len(lab_files) == 1:
        note = f"{shown(name)} was taken as {lab_files[0]}."
        return Opened(SingleFile(lab_files[0], data), digest, (note,))
    raise IntakeError(
        f"{shown(name)} has the name of none of the files to hand in ({', '.join(lab_files)}).",
        "The grader cannot tell which of them it is.",
        "Rename it.",
    )


def _unknown(name: str, data: bytes, lab_files: tuple[str, ...]) -> IntakeError:
    kind = next((words for magic, words in OTHER_ARCHIVES.items() if data.startswith(magic)), None)
    if kind is None and name.endswith(".ipynb"):
        kind = "a notebook"
    seen = f"{shown(name)} is {kind}." if kind else f"{shown(name)} is neither an archive nor a .py file."
    advice = f"Hand in {' or '.join(lab_files)} in one of these forms."
    if kind == "a notebook":
        advice = f"Export it as a Python script, and hand that in as {' or '.join(lab_files)}."
    return IntakeError(
        seen, "The grader takes a zip, a tar.gz or tar.xz, a directory, or the .py file itself.", advice
    )
