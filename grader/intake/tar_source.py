"""A tar archive, plain or compressed, read as a stream and never extracted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Self, cast

from grader.intake.ends import Ends, ends_of
from grader.intake.entries import REGULAR, Entry, OnBadName, raise_bad_name, reading, refuse_too_many
from grader.intake.errors import IntakeError
from grader.intake.limits import IntakeLimits
from grader.intake.names import parts_of
from grader.intake.unpacking import BoundedStream, packing_of, unpacked

WHAT = "a tar archive"
EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
MOST_WORK = 2**28
"""Bound on the sum of the squared sizes of extended headers: 2000 of 360 bytes, or a single one of 16 KB."""


def looks_like_tar(data: bytes) -> bool:
    """Whether the first block, unpacked if need be, is the header of a tar member (its checksum is right).

    A block of zeros is the end of an archive: an empty one begins with it.
    """
    block = b""
    try:
        for piece in unpacked(data, packing_of(data)):
            block += piece
            if len(block) >= tarfile.BLOCKSIZE:
                break
        block = block[: tarfile.BLOCKSIZE]
        if block != bytes(tarfile.BLOCKSIZE):
            tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except Exception:  # not one error type for damaged headers, see `reading`
        return False
    return True


class TarSource:
    """A `Source` over the bytes of a tar; ``name`` is what messages call it."""

    def __init__(
        self, name: str, data: bytes, limits: IntakeLimits, on_bad_name: OnBadName = raise_bad_name
    ) -> None:
        self._name = name
        self._data = data
        self._limits = limits
        self._on_bad_name = on_bad_name

    def entries(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        with self._opened() as (archive, stream):
            for index, member in enumerate(archive):
                if index >= self._limits.entries:
                    raise refuse_too_many(self._name, self._limits)
                if member.size < 0:
                    raise tarfile.ReadError("a member has a negative size")
                parts = self._parts(member)
                if parts and not member.isdir():
                    found.append(Entry(parts, member.size, _kind(member), index, float(member.mtime)))
            stream.drain()
            # tarfile takes a damaged header for the end of the archive.
            if stream.last_used > archive.offset:
                raise tarfile.ReadError("a header in the middle is damaged")
            if stream.given < archive.offset:
                raise tarfile.ReadError("unexpected end of data")
        return tuple(found)

    def read(self, wanted: Sequence[Entry]) -> list[bytes]:
        contents = {entry.key: content for entry, content in self.each(wanted)}
        return [contents[entry.key] for entry in wanted]

    def each(self, wanted: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The contents one after another, in the order of the archive."""
        left = {entry.key: entry for entry in wanted}
        with self._opened() as (archive, _):
            for index, member in enumerate(archive):
                if not left:
                    break
                if entry := left.pop(index, None):
                    stream = archive.extractfile(member)
                    content = stream.read(entry.size) if stream is not None else b""
                    if len(content) != entry.size:
                        raise tarfile.ReadError("unexpected end of data")
                    yield entry, content
            if left:
                raise tarfile.ReadError("unexpected end of data")

    def ends(self, wanted: Sequence[Entry], most: int) -> list[Ends | None]:
        found: dict[int, Ends] = {}
        keys = {entry.key for entry in wanted}
        with suppress(IntakeError), self._opened() as (archive, _):
            for index, member in enumerate(archive):
                if index in keys and (stream := archive.extractfile(member)) is not None:
                    found[index] = ends_of(stream, member.size, most)
                if len(found) == len(keys):
                    break
        return [found.get(entry.key) for entry in wanted]

    def _parts(self, member: tarfile.TarInfo) -> tuple[str, ...]:
        try:
            return parts_of(member.name, self._name)
        except IntakeError as error:
            self._on_bad_name(member.name, error)
            return ()

    @contextmanager
    def _opened(self) -> Iterator[tuple[tarfile.TarFile, BoundedStream]]:
        stream = BoundedStream(self._name, self._data, packing_of(self._data), self._limits)
        with (
            reading(self._name, WHAT),
            tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=_bounded_headers()) as archive,
        ):
            yield archive, stream


def _bounded_headers() -> type[tarfile.TarInfo]:
    """Members whose extended headers are refused before tarfile searches them.

    Its search takes time with the square of the length in older Pythons (CVE-2024-6232): a header of a
    few hundred bytes once it is compressed could hold the grader up for hours.
    """
    work = 0

    class Bounded(tarfile.TarInfo):
        """One member of the archive that is being read."""

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal work
            member = super().frombuf(buf, encoding, errors)
            if member.type in EXTENDED:
                work += member.size**2
                if work > MOST_WORK:
                    raise tarfile.ReadError("its extended headers are too long")
            return member

    return Bounded


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym():
        return "a symbolic link"
    if member.islnk():
        return "a hard link"
    return REGULAR if member.isreg() else "a device or another special file"
