"""Writing files that are whole or not there."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

STANDARD_OUTPUT = "-"


def write_to(target: str | Path, text: str) -> None:
    """`write_text`, or to standard output for ``-``, UTF-8 there too. Raises OSError."""
    if str(target) != STANDARD_OUTPUT:
        write_text(Path(target), text)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of text in UTF-8."""
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file. It is replaced in one step: a reader, or a run that is interrupted, finds the whole old
    one or the whole new one. Its folder must exist. Raises OSError."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        # Created anew with the permissions that the user's umask gives, unlike those of tempfile.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
