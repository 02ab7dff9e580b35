"""Brings a rank its share of the data so that no other process of the job ever has it.

The grader writes each share into a pipe and hands over the reading end. The warden moves the bytes, inside
the kernel, into the named pipe that one rank will open: they are in no memory that the ranks are forked
from. A rank takes its share before it says that it has started, and no student code runs before all have.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Sequence

from grader.run.workspace import Workspace

_LENGTH = struct.Struct("!Q")
_PIPE_BYTES = 1 << 20  # what an ordinary user may set a pipe to hold
_LARGEST = _PIPE_BYTES - (1 << 14)
_PR_SET_DUMPABLE = 4


def in_pipe(data: bytes) -> int:
    """A descriptor from which ``data`` can be read once. Raises OSError, ValueError when it is too large."""
    if len(data) > _LARGEST:
        raise ValueError(f"a share of {len(data)} bytes is more than the {_LARGEST} that can be handed over")
    reading, writing = os.pipe()
    _enlarge(writing)
    with open(writing, "wb") as pipe:
        pipe.write(_LENGTH.pack(len(data)) + data)
    return reading


def hand_over(connection: socket.socket, descriptors: Sequence[int]) -> None:
    """The grader's side: send the reading ends, and close them here."""
    try:
        socket.send_fds(connection, [b"s"], list(descriptors))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def distribute(
    connection: socket.socket, names: Sequence[str], workspace: Workspace, owner: int
) -> list[int]:
    """The warden's side: fill the ranks' named pipes. Keep what is returned open until the job is over."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, len(names))
    held = []
    for name, source in zip(names, descriptors, strict=True):
        path = workspace.share(name)
        os.mkfifo(path, 0o600)
        if owner != os.geteuid():
            os.chown(path, owner, owner)
        target = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        _enlarge(target)
        _move(source, target)
        os.close(source)
        held.append(target)
    return held


def take(workspace: Workspace, name: str) -> bytes:
    """A rank's side: its share, which is gone from the pipe afterwards. From now on no other process of
    this user may look into this one's memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with open(workspace.share(name), "rb", buffering=0) as pipe:
        (length,) = _LENGTH.unpack(_exactly(pipe.fileno(), _LENGTH.size))
        return _exactly(pipe.fileno(), length)


def _exactly(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (chunk := os.read(descriptor, count - len(data))):
        data += chunk
    return bytes(data)


def _enlarge(pipe: int) -> None:
    if sys.platform == "linux":
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _move(source: int, target: int) -> None:
    if sys.platform == "linux":
        while os.splice(source, target, _PIPE_BYTES):
            pass
        return
    while chunk := os.read(source, 1 << 16):
        os.write(target, chunk)
