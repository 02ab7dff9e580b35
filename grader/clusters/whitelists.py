"""What a value of a job script may consist of, field by field.

An ``#SBATCH`` line is not shell: a space in it begins another option and a newline another line of the
script, and no quoting helps against both. So whatever goes there is spelt from a few characters. What goes
into the shell is printable and gets quoted where it is written (see `grader.clusters.render`).
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator


class _Spelt:
    """Accepts text that matches a pattern whole; the words say what it accepts."""

    def __init__(self, pattern: str, words: str) -> None:
        self._pattern, self._words = re.compile(pattern, re.ASCII), words

    def __call__(self, value: str) -> str:
        if value and not self._pattern.fullmatch(value):
            raise ValueError(f"It must be {self._words}, and is {value!r}")
        return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"It must be one line without control characters, and is {value!r}")
    return value


def _no_option(value: str) -> str:
    if value.startswith("-"):
        raise ValueError(f"It must not begin with -, which makes it an option, and is {value!r}")
    return value


def _needed(value: str) -> str:
    if not value:
        raise ValueError("It must not be empty")
    return value


_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"

Name = Annotated[str, AfterValidator(_Spelt(_NAME, "a name of letters, digits, _, . and -"))]
JobName = Annotated[
    str, AfterValidator(_Spelt(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "a name of letters, digits, _, . and -"))
]
Account = Annotated[
    str, AfterValidator(_Spelt(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*", "a name of letters, digits, _, ., @ and -"))
]
Partition = Annotated[
    str, AfterValidator(_Spelt(rf"{_NAME}(,{_NAME})*", "a partition, or several with commas between them"))
]
Constraint = Annotated[
    str, AfterValidator(_Spelt(rf"{_NAME}([&|,]{_NAME})*", "features with &, | or a comma between them"))
]
Memory = Annotated[str, AfterValidator(_Spelt(r"[0-9]{1,9}[KMGT]?", "a number with K, M, G or T: 64G"))]
Time = Annotated[
    str,
    AfterValidator(
        _Spelt(
            r"[0-9]{1,3}-[0-9]{1,2}(:[0-9]{2}){0,2}|[0-9]{1,4}:[0-9]{2}:[0-9]{2}",
            "a time such as 00:30:00 or 1-12:00:00",
        )
    ),
]
Folder = Annotated[
    str,
    AfterValidator(
        _Spelt(r"/[A-Za-z0-9_./+@:=,-]*", "an absolute path without spaces, quotes, % and other signs")
    ),
]
Module = Annotated[
    str, AfterValidator(_Spelt(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*", "a module such as cuda/12.4"))
]
Interface = Annotated[
    str, AfterValidator(_Spelt(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}", "a network interface such as ib0"))
]
Suffix = Annotated[str, AfterValidator(_Spelt(r"[A-Za-z0-9_.@-]+", "letters, digits, _, ., @ and -"))]
Variable = Annotated[
    str, AfterValidator(_Spelt(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable"))
]
Directive = Annotated[
    str,
    AfterValidator(
        _Spelt(
            r"--[a-z][a-z-]*(=[A-Za-z0-9_][A-Za-z0-9_.:,&|@/-]*)?",
            "an option of sbatch, --name or --name=value",
        )
    ),
]
Line = Annotated[str, AfterValidator(_printable)]
Argument = Annotated[str, AfterValidator(_printable), AfterValidator(_no_option)]


Needed = AfterValidator(_needed)


def one_line(value: object) -> object:
    """The value, if it cannot end the line that it is written into. Raises ValueError."""
    if isinstance(value, str):
        _printable(value)
    return value


def one_word(value: object) -> str:
    """The value as text, if it is one word for sbatch: no space and no quote in it. Raises ValueError."""
    text = str(value)
    if not text.isprintable() or re.search(r"[\s\"'`\\$#;]", text):
        raise ValueError(f"{text!r} cannot stand in an #SBATCH line")
    return text
