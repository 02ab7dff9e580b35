"""The runs in a log: which ranks printed what.

Ranks share a file, and the lines of several of them may stand on one physical line, so everything is looked
for in the text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_RANKS = 1024
"""Numbers beyond are taken for no rank: a report names ranks one by one."""

_LAST_RUNS = 50
_BEGINS = re.compile(r"\[Distributed Init\] Rank ([0-9]{1,4})(?: of ([0-9]{1,4}) )?")
_COMPARES = re.compile(r"(?:\[([^\[\]\n]{1,60})\])?\[Rank ([0-9]{1,4})\] Tensors match: (True|False)")
_SPEAKS = re.compile(r"\[Rank ([0-9]{1,4})\] ?([^\[\n]{0,300})")


@dataclass(frozen=True)
class Compared:
    """One printed comparison."""

    prefix: str
    rank: int
    match: bool


@dataclass(frozen=True)
class Run:
    """What one run of the program printed. ``world_size`` is what it says of itself or, where it says
    nothing, what the largest rank makes it; ``finished`` are the ranks with the last line."""

    world_size: int | None
    compared: tuple[Compared, ...]
    finished: frozenset[int]


def runs_in(text: str, last_line: str) -> list[Run]:
    """The runs in ``text``, one after the other; the last ones where there are very many. A run begins where
    a rank joins that has joined before."""
    return [_run(piece, last_line) for piece in list(_pieces(text))[-_LAST_RUNS:]]


def spoken(text: str) -> Iterator[str]:
    """What ranks say about themselves (``[Rank 0] ...``), but for comparisons."""
    for found in _SPEAKS.finditer(text):
        if not found[2].startswith("Tensors match:"):
            yield found[2].strip()


def _pieces(text: str) -> Iterator[str]:
    begin, joined = 0, set[str]()
    for found in _BEGINS.finditer(text):
        if found[1] in joined:
            yield text[begin : found.start()]
            begin, joined = found.start(), set()
        joined.add(found[1])
    yield text[begin:]


def _run(text: str, last_line: str) -> Run:
    compared = tuple(
        Compared(found[1] or "", int(found[2]), found[3] == "True")
        for found in _COMPARES.finditer(text)
        if int(found[2]) < MOST_RANKS
    )
    sizes = [int(found[2]) for found in _BEGINS.finditer(text) if found[2]]
    joined = _ranks(found[1] for found in _BEGINS.finditer(text))
    ranks = joined | _ranks(found[1] for found in _SPEAKS.finditer(text))
    finished = re.finditer(rf"\[Rank ([0-9]{{1,4}})\] {re.escape(last_line)}", text) if last_line else ()
    world_size = max(sizes, default=max(ranks, default=-1) + 1)
    return Run(
        world_size if 0 < world_size <= MOST_RANKS else None,
        compared,
        frozenset(_ranks(found[1] for found in finished)),
    )


def _ranks(numbers: Iterable[str]) -> set[int]:
    return {int(number) for number in numbers if int(number) < MOST_RANKS}
