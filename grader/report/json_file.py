"""Writing ``report.json``."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from grader.report.schema import Report


def write_json(report: Report, target: str | Path) -> None:
    """Write the report to a file, or to standard output for ``-``.

    A file is replaced in one step: a reader, or a run that is interrupted, finds the whole old one or the
    whole new one. Its folder must exist. Raises OSError.
    """
    text = report.to_json()
    if str(target) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(target)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        # Created anew with the permissions that the user's umask gives, unlike those of tempfile.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(text)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
