"""The beginning and the end of a file that may be of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

_BLOCK = 2**16


@dataclass(frozen=True)
class Ends:
    """The first and the last bytes of a file, and how many lie between them."""

    head: bytes
    tail: bytes = b""
    between: int = 0


def ends_of(stream: IO[bytes], size: int, most: int) -> Ends:
    """The ends of ``stream``, ``most`` bytes of them together. It is read to its end, and never is more than
    that and a block in memory. Raises EOFError when it does not hold ``size`` bytes, and what it raises."""
    head = stream.read(most - most // 2)
    tail, read = bytearray(), len(head)
    while read < size and (block := stream.read(min(_BLOCK, size - read))):
        read += len(block)
        tail += block
        del tail[: max(len(tail) - most // 2, 0)]
    if read != size or stream.read(1):
        raise EOFError("it is not as long as it should be")
    return Ends(head, bytes(tail), size - len(head) - len(tail))


def ends_of_file(stream: IO[bytes], size: int, most: int) -> Ends:
    """The same of a file on the disk, whose middle is not read. It may be changing while it is read."""
    head = stream.read(most - most // 2)
    stream.seek(max(len(head), size - most // 2))
    tail = stream.read(most // 2)
    return Ends(head, tail, max(size - len(head) - len(tail), 0))
