"""Writing files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file, UTF-8. It is replaced in one step: a reader, or a run that is interrupted, finds the
    whole old one or the whole new one. Its folder must exist. Raises OSError."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        # Created anew with the permissions that the user's umask gives, unlike those of tempfile.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
