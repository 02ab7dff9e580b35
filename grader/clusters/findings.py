"""What the lint says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One mistake: what was seen, what it means, what to do; each a sentence. Line 0 is the whole file."""

    rule: str
    """The rule's name, for the tests: people get the sentences."""
    line: int
    seen: str
    means: str
    todo: str

    @property
    def sentences(self) -> str:
        return " ".join(part for part in (self.seen, self.means, self.todo) if part)
