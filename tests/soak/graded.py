"""Grades one case of the corpus, in a process of the soak's own."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from tests.corpus import CORPUS
from tests.grading import grade, verdicts
from tests.soak.changes import Verdict, flat


def graded(name: str) -> dict[str, Verdict]:
    """All verdicts on a case, ``kind/name``, by their place."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        return flat(name, verdicts(grade(name, Path(folder), limits=_limits(name))))


def _limits(name: str) -> dict[str, float] | None:
    """What the case itself asks for in place of the rubric's limits."""
    expect = CORPUS / name / "expect.toml"
    return tomllib.loads(expect.read_text(encoding="utf-8")).get("limits") if expect.exists() else None
