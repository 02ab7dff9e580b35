"""Text from a hidden case without its numbers.

Such a text may quote a size, the seed, a shape, an expected value, or what follows from them (a local batch,
a factor), in the grader's words or in those of an exception. No list of the numbers to take out could be
complete, and taking out known ones only would tell which they are: a program that raises an exception with
all numbers from 1 to 1000 in it would see which of them are missing. So every number goes, whatever its
value: each word with a digit in it (`x54`, `0x7f`, `30x54`, `½` and `四`, too) becomes ``…``, and several in
a row become one, so that a shape does not even tell how many dimensions it has.

What stays are numbers that are in the report as fields of their own anyway, and only where the words before
or behind them say that this is what they are: ranks that exist (``ranks 0 and 3``), world sizes that were
used (``2 ranks``), lines that a finding names (``line 92``). Any other number in such a place goes, too.

Not closed, for no rule on text could: a program that is asked a hidden case knows its numbers, and can spell
them in letters, or tell them by whether, where and on which ranks it fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

MASK = "…"

_LIST = r"\d{1,9}(?:(?:, and | and |, | or | to )\d{1,9})*"
_ENDS = r"(?![\w%])(?![.,:*/^+-]\S*\d)"
_PHRASE = re.compile(
    rf"\b(?:(?P<rank>ranks? )|(?P<line>lines? )|(?P<size>world[ _]size(?: of | = |=| )))"
    rf"(?P<list>{_LIST}){_ENDS}"
    rf"|(?<![\w.,:*/^+-])(?P<count>\d{{1,9}})(?= ranks?\b| is the world size\b)",
    re.IGNORECASE | re.ASCII,
)
_WORD = re.compile(r"\w+")
_REPEATED = re.compile(rf"{MASK}(?:(?:[-.,:/x×*^+%]|, )?{MASK})+")


@dataclass(frozen=True)
class Allowed:
    """What may be told: numbers by what they are, and ``names`` of files, which the student gave them."""

    ranks: Collection[int] = ()
    lines: Collection[int] = ()
    world_sizes: Collection[int] = ()
    names: Collection[str] = ()


def masked(text: str, allowed: Allowed = Allowed()) -> str:
    """``text`` without numbers but those that are ``allowed`` where they stand (see the module)."""
    names = sorted((name for name in allowed.names if re.search(r"[^\W\d]", name)), key=len, reverse=True)
    named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or r"(?!)")
    return _between(text, named, lambda match: match[0], lambda rest: _without_numbers(rest, allowed))


def _without_numbers(text: str, allowed: Allowed) -> str:
    kept = _between(text, _PHRASE, lambda match: _phrase(match, allowed), _all_masked)
    return _REPEATED.sub(MASK, kept)


def _phrase(match: re.Match[str], allowed: Allowed) -> str:
    if match["rank"]:
        known = allowed.ranks
    elif match["line"]:
        known = allowed.lines
    else:
        known = allowed.world_sizes
    return re.sub(
        r"\d+", lambda number: number[0] if number[0] in map(str, known) else MASK, match[0], flags=re.ASCII
    )


def _all_masked(text: str) -> str:
    return _WORD.sub(lambda word: MASK if any(map(str.isnumeric, word[0])) else word[0], text)


def _between(
    text: str,
    pattern: re.Pattern[str],
    inside: Callable[[re.Match[str]], str],
    outside: Callable[[str], str],
) -> str:
    """``text`` with ``inside`` done to each match and ``outside`` to what is between them."""
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [outside(text[end : match.start()]), inside(match)]
        end = match.end()
    return "".join([*parts, outside(text[end:])])
