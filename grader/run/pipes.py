"""What ranks say while they run: a bounded copy of their output, and their status lines."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CHUNK = 1 << 16
_KEEP = 16 << 10  # bytes kept of the beginning, and as many of the end
_STATUS_LINE = 1 << 14


@dataclass
class Output:
    """The first and the last 16 KiB of a stream, and how long it was in all."""

    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: deque[bytes] = field(default_factory=deque)
    _tail_size: int = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = _KEEP - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= _KEEP:
                self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        """What was printed, undecodable bytes replaced; a line says how much was left out."""
        tail = b"".join(self._tail)[-_KEEP:]
        left_out = self.total - len(self._head) - len(tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        return (bytes(self._head) + middle + tail).decode(errors="replace")


@dataclass
class Status:
    """What a rank last said of itself. It is a student's process: this serves to end jobs, never to judge.

    ``waits`` is the operation in which it stands still (see `communication`), since ``waits_since``; it
    was last heard to do so at ``heard`` (both of `time.monotonic`).
    """

    started: bool = False
    finished: bool = False
    failed: bool = False
    closed: bool = False
    case: int = -1
    waits: dict[str, Any] | None = None
    waits_since: float = 0.0
    heard: float = 0.0
    _rest: bytes = b""

    @property
    def over(self) -> bool:
        return self.finished or self.failed

    def add(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-_STATUS_LINE:]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            said = json.loads(line)
            event, case = said["event"], said.get("case")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return
        if event == "started":
            self.started = True
        elif event == "case" and isinstance(case, int):
            self.case = case
        elif event == "waits" and isinstance(said.get("operation"), dict):
            self.heard = time.monotonic()
            if self.waits is None:
                self.waits_since = self.heard
            self.waits = {name: value for name, value in said["operation"].items() if _is_flat(value)}
        elif event == "goes-on":
            self.waits = None
        elif event == "finished":
            self.finished = True
        elif event == "failed":
            self.failed = True


def _is_flat(value: object) -> bool:
    """Whether it is a plain value or a list of such: nothing that is nested goes on from here."""
    plain = (str, int, float, bool, type(None))
    return isinstance(value, plain) or (
        isinstance(value, list) and all(isinstance(item, plain) for item in value)
    )


def open_reader(path: Path) -> int:
    """Open a named pipe for reading without waiting for its writer."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def read_available(descriptor: int) -> bytes | None:
    """What can be read now, at most 64 KiB; b"" at the end, None when there is nothing yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def say(descriptor: int, event: str, **more: Any) -> None:
    """A rank's side: write one status line. A pipe that is full or gone is no reason to fail."""
    try:
        os.write(descriptor, json.dumps({"event": event, **more}).encode() + b"\n")
    except OSError:
        return
