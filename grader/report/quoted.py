"""Places in the files that were handed in, and the lines there.

Which file and which line an exception names, a student's program decides: ``compile(code, "any name",
"exec")``. A report that is shown to students must not carry a number that a hidden case told it, so only what
really is there is a place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.judge.text import clean_line

#: The lines of each file handed in, by its path; None where they are not known, and nothing is looked up.
Sources = Mapping[str, Sequence[str]] | None

AROUND = 2  # lines before and after the one that a finding is about
_MOST = 40
_NAMED = re.compile(r"\bline (\d{1,7})\b")


def place(sources: Sources, file: str | None, line: int | None) -> tuple[str | None, int | None]:
    """The file and the line, as far as they are there."""
    if sources is None:
        return file, line
    lines = sources.get(file or "")
    if lines is None:
        return None, None
    return file, line if line is not None and 1 <= line <= len(lines) else None


def quoted(sources: Sources, file: str | None, line: int | None, message: str) -> tuple[tuple[int, str], ...]:
    """The line, those that the message names (where each rank waits), and those around: (number, text)."""
    lines = (sources or {}).get(file or "", ())
    wanted = [line] if line is not None else []
    wanted += [int(number) for number in _NAMED.findall(message)] if wanted else []
    numbers = {near for one in wanted for near in range(one - AROUND, one + AROUND + 1)}
    there = sorted(number for number in numbers if 1 <= number <= len(lines))
    return tuple((number, _shown(lines[number - 1])) for number in there[:_MOST])


def _shown(line: str) -> str:
    """The line with its indentation, which says what belongs to what."""
    text = line.expandtabs(4)
    return " " * min(len(text) - len(text.lstrip()), 60) + clean_line(text, 200)
