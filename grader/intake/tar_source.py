"""A tar archive, plain or compressed, read as a stream and never extracted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Self, cast

from grader.intake.entries import REGULAR, Entry, reading, refuse_too_many
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

    def __init__(self, name: str, data: bytes, limits: IntakeLimits) -> None:
        self._name = name
        self._data = data
        self._limits = limits

    def entries(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        with self._opened() as (archive, stream):
            for index, member in enumerate(archive):
                if index >= self._limits.entries:
                    raise refuse_too_many(self._name, self._limits)
                if member.size < 0:
                    raise tarfile.ReadError("a member has a negative size")
                parts = parts_of(member.name, self._name)
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
        sizes = {entry.key: entry.size for entry in wanted}
        contents: dict[int, bytes] = {}
        with self._opened() as (archive, _):
            for index, member in enumerate(archive):
                if index in sizes:
                    stream = archive.extractfile(member)
                    contents[index] = stream.read(sizes[index]) if stream is not None else b""
                    if len(contents[index]) != sizes[index]:
                        raise tarfile.ReadError("unexpected end of data")
                if len(contents) == len(sizes):
                    break
            return [contents[entry.key] for entry in wanted]

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
