"""Where the time of grading a submission went."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Timings:
    """Where the time went: spans of (what, seconds since the start, seconds), in order of their end."""

    started: float = field(default_factory=time.monotonic)
    spans: list[tuple[str, float, float]] = field(default_factory=list)

    def add(self, what: str, since: float) -> None:
        """Note a span that began at ``since`` (of `time.monotonic`) and ends now."""
        self.spans.append((what, since - self.started, time.monotonic() - since))
