"""The logs of a run that were handed in beside the code: read as text, within bounds, and never staged.

A log that cannot be read spoils nothing: what is graded is the code.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from grader.intake.ends import Ends
from grader.intake.entries import Entry
from grader.intake.names import LOGS

MOST_LOGS = 12
MOST_OF_ONE = 2 * 2**20
MOST_OF_ALL = 8 * 2**20
"""Bytes that are kept of one log, and of all of a submission. A run of the handout prints some kilobytes."""

_SAMPLE = 4096


@dataclass(frozen=True)
class Log:
    """A text file that was handed in; ``left_out`` bytes of its middle were not kept."""

    name: str
    text: str
    left_out: int = 0


def choose_logs(
    entries: Sequence[Entry], home: tuple[str, ...], others: Sequence[tuple[str, ...]]
) -> tuple[Entry, ...]:
    """The logs to read, at most `MOST_LOGS`: those in the folder ``home`` or, where it has none, those around
    it. What lies in one of ``others`` belongs to another copy of the assignment. Plain text files come last:
    many of them are no logs."""
    found = [
        entry
        for entry in entries
        if _suffix(entry) in LOGS and not any(entry.parts[: len(other)] == other for other in others)
    ]
    found = [entry for entry in found if entry.parts[: len(home)] == home] or found
    found.sort(key=lambda entry: (_suffix(entry) == ".txt", len(entry.parts), entry.parts))
    return tuple(sorted(found[:MOST_LOGS], key=lambda entry: entry.parts))


def room_for_each(logs: int) -> int:
    """How many bytes are kept of each of so many logs."""
    return min(MOST_OF_ONE, MOST_OF_ALL // max(logs, 1))


def text_of(ends: Ends) -> str:
    """The text, whatever its encoding: UTF-16 is recognised, all else is read as UTF-8, and what is neither
    becomes U+FFFD. A line between the ends says what was left out. Never raises."""
    encoding, width = _encoding(ends.head)
    tail = ends.tail[(len(ends.head) + ends.between) % width and 1 :]
    if not ends.between:
        return (ends.head + ends.tail).decode(encoding, "replace").removeprefix("\ufeff")
    head = ends.head.decode(encoding, "replace").removeprefix("\ufeff")
    return f"{head}\n[{ends.between} bytes were left out here]\n{tail.decode(encoding, 'replace')}"


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding and the bytes of a unit. PowerShell writes UTF-16, of which half the bytes are zero."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return encoding, 2
    sample = head[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > len(sample) / 4 and min(even, odd) * 8 < max(even, odd):
        return ("utf-16-le" if odd > even else "utf-16-be"), 2
    return "utf-8", 1


def _suffix(entry: Entry) -> str:
    return "." + entry.parts[-1].rpartition(".")[2].lower() if "." in entry.parts[-1] else ""
