"""The bytes inside a gzip, bzip2 or xz file, a piece at a time and never more than the limits allow."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import Protocol

from grader.intake.entries import check_unpacked
from grader.intake.limits import IntakeLimits

PIECE = 2**16
XZ_MEMORY = 128 * 2**20  # what the strongest preset (-9) asks for is 65 MB

MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00"}


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _decompressor(packing: str) -> _Decompressor:
    if packing == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    if packing == "bzip2":
        return bz2.BZ2Decompressor()
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)


def packing_of(data: bytes) -> str | None:
    """Which of `MAGIC` these bytes begin with."""
    return next((packing for packing, magic in MAGIC.items() if data.startswith(magic)), None)


def unpacked(data: bytes, packing: str | None) -> Iterator[bytes]:
    """The content in pieces of at most `PIECE` bytes. ``packing`` None gives ``data`` itself.

    Raises the codec's own error for damaged data and EOFError for data that stop too early. Several
    streams may follow each other; zero bytes after the last one are padding.
    """
    if packing is None:
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]
        return
    while data:
        codec = _decompressor(packing)
        while not codec.eof:
            piece = codec.decompress(data, PIECE)
            # zlib hands back what it has not read yet; bz2 and lzma keep it to themselves.
            data = codec.unconsumed_tail if packing == "gzip" else b""  # type: ignore[attr-defined]
            if piece:
                yield piece
            elif not data and not codec.eof:
                raise EOFError("the compressed data stop too early")
        data = codec.unused_data.lstrip(b"\0")


class BoundedStream:
    """A file object for `tarfile`'s stream mode: it gives what is unpacked, and stops it at the limits.

    ``given`` counts the bytes so far; ``last_used`` is the position after the last one that was not zero.
    """

    def __init__(self, name: str, data: bytes, packing: str | None, limits: IntakeLimits) -> None:
        self._name = name
        self._packed = len(data)
        self._limits = limits
        self._pieces = unpacked(data, packing)
        self._rest = b""
        self.given = 0
        self.last_used = 0

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        answer, self._rest = self._rest[:size], self._rest[size:]
        if used := len(answer.rstrip(b"\0")):
            self.last_used = self.given + used
        self.given += len(answer)
        check_unpacked(self._name, self._packed, self.given, self._limits)
        return answer

    def drain(self) -> None:
        """Reads to the end, so that the codec compares its checksums."""
        while self.read(PIECE):
            pass
