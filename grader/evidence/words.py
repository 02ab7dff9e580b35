"""Ranks, parts and lists in words."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 8


def ranks_in_words(ranks: Sequence[int]) -> str:
    """ "rank 0", "ranks 0, 1 and 3"; of many, the first ones and how many more there are."""
    more = len(ranks) - _MOST
    words = [str(rank) for rank in ranks[:_MOST]] + ([f"{more} more"] if more > 0 else [])
    return f"rank{'s' * (len(ranks) > 1)} {listed(words)}"


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([part for part in (", ".join(words[:-1]), *words[-1:]) if part])


def part_of(title: str) -> str:
    """ "part 3" of the title "Part 3: data parallel"; of another, the title."""
    number, colon, _ = title.partition(":")
    return number[:1].lower() + number[1:] if colon else title
