"""Messages between the grader and the agent: a JSON header and named blobs, with lengths first."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")
_CHUNK = 1 << 20


class WireError(ConnectionError):
    """The other side went away, or sent something that is not a message."""


def send(sock: socket.socket, header: dict[str, Any], blobs: dict[str, bytes] | None = None) -> None:
    """Send one message. Raises OSError when the other side is gone."""
    blobs = blobs or {}
    head = json.dumps({**header, "blobs": [[name, len(data)] for name, data in blobs.items()]}).encode()
    sock.sendall(_LENGTH.pack(len(head)) + head)
    for data in blobs.values():
        sock.sendall(data)


def receive(sock: socket.socket, limit: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Receive one message of at most ``limit`` bytes in all.

    Raises `WireError` when the other side closes, or when the message is larger or malformed;
    TimeoutError by the socket's own time-out.
    """
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    if length > limit:
        raise WireError(f"a message header of {length} bytes is over the limit of {limit}")
    try:
        header = json.loads(_exactly(sock, length))
        sizes = [(str(name), int(size)) for name, size in header.pop("blobs")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError(f"a malformed message: {error}") from error
    if any(size < 0 for _, size in sizes) or length + sum(size for _, size in sizes) > limit:
        raise WireError(f"a message over the limit of {limit} bytes")
    return header, {name: _exactly(sock, size) for name, size in sizes}


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = sock.recv(min(count - len(data), _CHUNK))
        if not chunk:
            raise WireError("the connection was closed in the middle of a message")
        data += chunk
    return bytes(data)
