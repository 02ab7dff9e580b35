"""Brings a rank its share of the data so that no other process of the job ever has it.

The grader writes the shares into an anonymous file and hands that over. The warden moves the bytes, inside
the kernel, into the named pipe that one rank opens: they are in no memory that the ranks are forked from. It
does so in pieces, while the ranks read: how much a pipe holds depends on what other processes of the same
user have left (see pipe-user-pages-soft in pipe(7)), and 4 KiB must do. A rank takes its shares before it
says that it has started, and no student code runs before all have.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.run.workspace import Workspace

_PIECE = 1 << 20  # bytes to move at most at a time; a pipe takes what it has room for
_PR_SET_DUMPABLE = 4


def hand_over(connection: socket.socket, shares: Iterable[bytes]) -> None:
    """The grader's side: send all shares of a job, in one file that nobody can change. Raises OSError."""
    file = _anonymous_file()
    try:
        with open(file, "wb", closefd=False) as writer:
            writer.writelines(shares)
        _seal(file)
        socket.send_fds(connection, [b"s"], [file])
    finally:
        os.close(file)


@dataclass
class _Pipe:
    """A rank's named pipe, and what of the file is still to go there."""

    descriptor: int
    position: int
    left: int


class Delivery:
    """The warden's side: the shares on their way from the grader's file into the ranks' named pipes.

    Call `feed` whenever one of `waiting` has room. When it has delivered everything, this process has nothing
    any more from which a share could be read again. Keep it open until the job is over.
    """

    def __init__(self, file: int, pipes: Iterable[_Pipe]) -> None:
        self._file, self._pipes = file, list(pipes)
        self._unfinished = list(self._pipes)

    @classmethod
    def receive(
        cls, connection: socket.socket, lengths: Mapping[str, int], workspace: Workspace, owner: int
    ) -> Delivery:
        """Take the grader's file, and lay out a pipe for each share; ``lengths`` are in bytes, in the order
        of the file. Raises OSError."""
        if not lengths:
            return cls(-1, [])
        _, (file,), _, _ = socket.recv_fds(connection, 1, 1)
        pipes, position = [], 0
        for name, length in lengths.items():
            pipes.append(_Pipe(_new_pipe(workspace, name, owner), position, length))
            position += length
        return cls(file, pipes)

    def waiting(self) -> list[int]:
        """The writing ends of the pipes that have not got everything yet."""
        return [pipe.descriptor for pipe in self._unfinished]

    def feed(self) -> None:
        """Move what there is room for. Never waits. Raises OSError when the file is too short."""
        for pipe in self._unfinished:
            while pipe.left and (moved := _move(self._file, pipe)):
                pipe.position += moved
                pipe.left -= moved
        self._unfinished = [pipe for pipe in self._unfinished if pipe.left]
        if not self._unfinished:
            self._close_file()

    def close(self) -> None:
        """End it. What has not been read is lost."""
        self._close_file()
        for pipe in self._pipes:
            os.close(pipe.descriptor)
        self._pipes, self._unfinished = [], []

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def take(workspace: Workspace, name: str, length: int) -> bytes:
    """A rank's side: its share of ``length`` bytes, which is gone from the pipe afterwards. From now on no
    other process of this user may look into this one's memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with open(workspace.share(name), "rb", buffering=0) as pipe:
        return _exactly(pipe.fileno(), length)


def _new_pipe(workspace: Workspace, name: str, owner: int) -> int:
    """Open for both, so that it is never at its end, whoever comes and goes."""
    path = workspace.share(name)
    os.mkfifo(path, 0o600)
    if owner != os.geteuid():
        os.chown(path, owner, owner)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def _exactly(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (chunk := os.read(descriptor, count - len(data))):
        data += chunk
    return bytes(data)


def _anonymous_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("shares", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _seal(file: int) -> None:
    if sys.platform == "linux":
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)


def _move(file: int, pipe: _Pipe) -> int:
    """How many bytes could be moved; none when the pipe is full."""
    count = min(pipe.left, _PIECE)
    try:
        if sys.platform == "linux":
            moved = os.splice(
                file, pipe.descriptor, count, offset_src=pipe.position, flags=os.SPLICE_F_NONBLOCK
            )
        else:
            moved = os.write(pipe.descriptor, os.pread(file, count, pipe.position))
    except BlockingIOError:
        return 0
    if moved == 0:
        raise OSError(errno.ENODATA, "the file of shares ended before its last share")
    return moved
