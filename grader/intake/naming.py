"""Whose a hand-in is, by its name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".txz", ".tar.xz", ".tar.bz2")
_LONGEST_FIRST = sorted(ARCHIVES, key=len, reverse=True)
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,5}$")


@dataclass(frozen=True)
class Naming:
    """``patterns`` find the student in the beginning of a name, by their groups ``student`` and ``id``."""

    patterns: tuple[str, ...]

    def match(self, name: str) -> re.Match[str] | None:
        """The first pattern's match that names somebody."""
        found = (re.match(pattern, name) for pattern in self.patterns)
        return next((one for one in found if one and one["student"].strip()), None)

    def student(self, name: str, is_folder: bool) -> str:
        """Whose a file or folder of this name is, in characters that every file and screen can take."""
        found = self.match(name)
        if found:
            parts = (found["student"], found.groupdict().get("id"))
            whose = "_".join(part.strip() for part in parts if part)
        else:
            whose = name if is_folder else without_suffix(name)
        return encodable(unicodedata.normalize("NFC", whose))

    def rest(self, name: str) -> str:
        """What is left of a name behind the student's: the file's own."""
        found = self.match(name)
        return name[found.end() :] if found else name

    def fits(self, names: Sequence[str]) -> bool:
        """Whether the patterns tell these names of one folder apart: where all of several begin with the same
        match, it is the assignment's name and not a student's."""
        begins = {found.group() if (found := self.match(name)) else name for name in names}
        return len(names) < 2 or len(begins) > 1


def encodable(text: str) -> str:
    """A name with what is no character (a byte that is not UTF-8) written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def without_suffix(name: str) -> str:
    """A file's name without what says its kind."""
    for suffix in _LONGEST_FIRST:
        if name.casefold().endswith(suffix):
            return name[: -len(suffix)] or name
    return _SUFFIX.sub("", name)
