"""Submissions whose grade is known: right ones in many forms, and wrong ones with the finding they must get.

A case is a folder. It holds the submission's files, or a ``change.toml`` that says how it differs from one:

    base = "correct/matmul"     # the case it starts from
    line_ends = "crlf"          # optional: the line ends of the result
    [[replace]]                 # any number; each `old` occurs exactly once in the base's assignment4.py
    old = '''...'''
    new = '''...'''

A wrong case also has an ``expect.toml``: ``exercise`` and ``finding`` (what the grader must say), ``why``
(the mistake), ``also`` (further exercises that fail: ``["script"]`` where the driver's own comparison does),
and for a mistake that runs into a limit, a ``[limits]`` table that replaces some of the rubric's.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent
HAND_IN = "assignment4.py"
_ABOUT_THE_CASE = {"change.toml", "expect.toml"}


def load_case(folder: Path) -> dict[str, bytes]:
    """Return the files of a submission, name to content.

    Raises ValueError when an ``old`` of its ``change.toml`` does not occur exactly once.
    """
    own = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name not in _ABOUT_THE_CASE
    }
    change_file = folder / "change.toml"
    if not change_file.exists():
        return own
    change = tomllib.loads(change_file.read_text(encoding="utf-8"))
    files = load_case(CORPUS / change["base"])
    files[HAND_IN] = _changed(files[HAND_IN].decode(), change, change_file).encode()
    return {**files, **own}


def _changed(source: str, change: dict[str, Any], change_file: Path) -> str:
    for number, replace in enumerate(change.get("replace", []), start=1):
        found = source.count(replace["old"])
        if found != 1:
            raise ValueError(f"{change_file}: the text of replace {number} occurs {found} times in the base")
        source = source.replace(replace["old"], replace["new"])
    if change.get("line_ends") == "crlf":
        source = source.replace("\n", "\r\n")
    return source
