"""Making text that a student wrote safe to show.

Imports nothing heavy: the renderers use it too.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REORDERING = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_text(text: str, limit: int = 2000) -> str:
    """``text`` without escape sequences and control characters but ``\\n`` and ``\\t``, cut to ``limit``.

    What is too long keeps its beginning and its end, where the interesting lines are. Line ends become
    ``\\n``; lone surrogates, which cannot be encoded, become U+FFFD; direction marks, which reorder what
    a reader sees, go. Never raises.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _REORDERING.sub("", _CONTROLS.sub("", text))
    return shorten(_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text), limit)


def clean_line(text: str, limit: int = 200) -> str:
    """`clean_text` on one line: every run of white space becomes one space."""
    return shorten(" ".join(clean_text(text, 4 * limit + 100).split()), limit)


def shorten(text: str, limit: int) -> str:
    """The beginning and the end of ``text``, and a mark where its middle was left out."""
    if len(text) <= limit:
        return text
    mark = " … [part of it left out] … "
    room = limit - len(mark)
    if room < len(mark):
        return (text[: max(limit - 1, 0)] + "…")[: max(limit, 0)]
    return text[: room - room // 2] + mark + text[len(text) - room // 2 :]
