"""What a member's name says: where it would land, whether it is junk, whether it may be staged."""

from __future__ import annotations

import re

from grader.intake.errors import IntakeError, shown
from grader.module_names import RESERVED

MACOS = "written by macOS"
HIDDEN = "a hidden file"
CACHE = "a cache"
ENVIRONMENT = "a virtual environment"

JUNK = {
    "__MACOSX": MACOS,
    ".DS_Store": MACOS,
    "Thumbs.db": "written by Windows",
    "desktop.ini": "written by Windows",
    "__pycache__": "Python's cache",
    ".git": "version control",
    ".hg": "version control",
    ".svn": "version control",
    ".venv": ENVIRONMENT,
    "venv": ENVIRONMENT,
    "node_modules": ENVIRONMENT,
    ".idea": "an editor's settings",
    ".vscode": "an editor's settings",
    ".ipynb_checkpoints": CACHE,
    ".mypy_cache": CACHE,
    ".pytest_cache": CACHE,
    ".ruff_cache": CACHE,
}
LOGS = frozenset({".log", ".err", ".out", ".txt"})

LONGEST_PART = 255
LONGEST_PATH = 1000


_COPY = re.compile(r"(\(\d+\)|copy)$")


def plain(file: str) -> str:
    """A file's name as its owner meant it: without the case, spaces, dashes and underscores that people vary,
    and without what a browser or a file manager appends to a second copy (``assignment4 (1).py``)."""
    stem, dot, suffix = file.casefold().rpartition(".")
    return re.sub(_COPY, "", re.sub(r"[\s_-]+", "", stem)) + dot + suffix


def parts_of(name: str, archive: str) -> tuple[str, ...]:
    """The pieces of a member's name, folders first; backslashes count as slashes, as Windows wrote them.

    Raises `IntakeError` for a name that would land outside the folder it is unpacked into.
    """
    slashed = name.replace("\\", "/")
    pieces = tuple(piece for piece in slashed.split("/") if piece not in ("", "."))
    if slashed.startswith("/") or re.match("[A-Za-z]:", slashed):
        seen = f"{shown(archive)} holds a file with an absolute name ({shown(name)})."
    elif ".." in pieces:
        seen = f"{shown(archive)} holds a file whose name climbs out of its folder ({shown(name)})."
    elif "\0" in name:
        seen = f"{shown(archive)} holds a file with a zero byte in its name ({shown(name)})."
    else:
        return pieces
    raise IntakeError(
        seen,
        "Unpacking it could write outside the submission, so nothing was unpacked.",
        "Make the archive again from inside your folder, with plain relative names.",
    )


def junk_in(parts: tuple[str, ...]) -> tuple[str, str] | None:
    """The outermost piece of a path that is junk, as ``(path up to it, reason)``; None if it is wanted."""
    for depth, piece in enumerate(parts, start=1):
        reason = JUNK.get(piece)
        if reason is None and piece.startswith("._"):
            reason = MACOS
        if reason is None and piece.startswith("."):
            reason = HIDDEN
        if reason is not None:
            return "/".join(parts[:depth]) + ("/" if depth < len(parts) else ""), reason
    return None


def why_not_staged(inside: tuple[str, ...]) -> str | None:
    """Why a file of the submission's folder stays out of the sandbox; None for a file that goes in.

    ``inside`` are the pieces of its path below that folder.
    """
    file = inside[-1]
    suffix = "." + file.rpartition(".")[2].lower() if "." in file else ""
    if suffix in LOGS:
        return "not needed to run"
    if not file.endswith(".py"):
        return "only Python files (*.py) are run"
    top = inside[0].removesuffix(".py")
    if top in RESERVED:
        return f"its name would hide the module {top}"
    if not all(piece.isprintable() and len(piece.encode()) <= LONGEST_PART for piece in inside):
        return "its name has unprintable characters or is too long"
    if len("/".join(inside).encode()) > LONGEST_PATH:
        return "its path is too long"
    return None
