"""A zip archive, read member by member and never extracted."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO

from grader.intake.ends import Ends, ends_of
from grader.intake.entries import (
    REGULAR,
    Entry,
    OnBadName,
    check_unpacked,
    raise_bad_name,
    reading,
    refuse_too_many,
)
from grader.intake.errors import IntakeError, shown
from grader.intake.limits import IntakeLimits
from grader.intake.names import parts_of

WHAT = "a zip archive"
ENCRYPTED = "an encrypted file"
UNIX_LIKE = (3, 19)  # "made by" systems whose external attributes carry a file mode: Unix, macOS
ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
CENTRAL_HEADER = b"PK\x01\x02"


class ZipSource:
    """A `Source` over the bytes of a zip; ``name`` is what messages call it."""

    def __init__(
        self, name: str, data: bytes, limits: IntakeLimits, on_bad_name: OnBadName = raise_bad_name
    ) -> None:
        self._name = name
        self._data = data
        self._limits = limits
        self._on_bad_name = on_bad_name

    def entries(self) -> tuple[Entry, ...]:
        # zipfile builds an object for every header before it says how many there are, so they are
        # counted first. A zip stored inside the zip may add to the count: it only grows.
        if self._data.count(CENTRAL_HEADER) > self._limits.entries:
            raise refuse_too_many(self._name, self._limits)
        with reading(self._name, WHAT), zipfile.ZipFile(io.BytesIO(self._data)) as archive:
            members = archive.infolist()
            check_unpacked(self._name, len(self._data), sum(m.file_size for m in members), self._limits)
            return tuple(
                Entry(parts, member.file_size, _kind(member), index, _when(member))
                for index, member in enumerate(members)
                if (parts := self._parts(member)) and not _is_folder(member)
            )

    def read(self, wanted: Sequence[Entry]) -> list[bytes]:
        with reading(self._name, WHAT), zipfile.ZipFile(io.BytesIO(self._data)) as archive:
            members = archive.infolist()
            return [self._content(archive, members[entry.key], entry) for entry in wanted]

    def each(self, wanted: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | IntakeError]]:
        """The contents one after another, or why one cannot be read; that spoils no other."""
        with reading(self._name, WHAT), zipfile.ZipFile(io.BytesIO(self._data)) as archive:
            members = archive.infolist()
            for entry in wanted:
                content: bytes | IntakeError
                try:
                    with reading(entry.path, "a member of a zip archive"):
                        content = self._content(archive, members[entry.key], entry)
                except IntakeError as error:
                    content = error
                yield entry, content

    def ends(self, wanted: Sequence[Entry], most: int) -> list[Ends | None]:
        with reading(self._name, WHAT), zipfile.ZipFile(io.BytesIO(self._data)) as archive:
            members = archive.infolist()
            return [self._ends(archive, members[entry.key], entry, most) for entry in wanted]

    def _ends(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, entry: Entry, most: int
    ) -> Ends | None:
        try:
            with (
                reading(entry.path, "a member of a zip archive"),
                self._opened(archive, member, entry) as stream,
            ):
                return ends_of(stream, entry.size, most)
        except IntakeError:
            return None

    def _parts(self, member: zipfile.ZipInfo) -> tuple[str, ...]:
        try:
            return parts_of(member.orig_filename, self._name)
        except IntakeError as error:
            self._on_bad_name(member.orig_filename, error)
            return ()

    def _content(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, entry: Entry) -> bytes:
        with self._opened(archive, member, entry) as stream:
            content = stream.read(entry.size)
            if len(content) != entry.size or stream.read(1):
                raise zipfile.BadZipFile(f"{entry.path} is not as long as the archive says")
        return content

    def _opened(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, entry: Entry) -> IO[bytes]:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # The other methods' decompressors cannot be told to stop after so many bytes.
            raise IntakeError(
                f"{shown(self._name)} holds {shown(entry.path)} packed by an unusual method"
                f" (number {member.compress_type}).",
                "The grader reads plain zip files only.",
                "Make the zip again with your system's ordinary command, or hand in the .py file.",
            )
        return archive.open(member)


def _when(member: zipfile.ZipInfo) -> float:
    try:
        return datetime(*member.date_time).timestamp()  # a zip has local times
    except (ValueError, OverflowError, OSError):
        return 0.0


def _is_folder(member: zipfile.ZipInfo) -> bool:
    return member.orig_filename.endswith(("/", "\\"))


def _kind(member: zipfile.ZipInfo) -> str:
    if member.create_system in UNIX_LIKE:
        file_type = stat.S_IFMT(member.external_attr >> 16)
        if file_type == stat.S_IFLNK:
            return "a symbolic link"
        if file_type not in (0, stat.S_IFREG):
            return "a device or another special file"
    return ENCRYPTED if member.flag_bits & ENCRYPTED_FLAGS else REGULAR
