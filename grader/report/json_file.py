"""Writing ``report.json``."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.report.files import write_text
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
    write_text(Path(target), text)
