"""The lines of staged files, for findings to quote."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable
from pathlib import Path


def lines_of(folder: Path, files: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The lines of each file below ``folder``, without their ends. Read as Python reads them; a file that
    says no, or another, encoding than it has is read as Latin-1."""
    return {name: tuple(_text(folder / name).splitlines()) for name in files}


def _text(path: Path) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError):
        return path.read_text(encoding="latin-1")
