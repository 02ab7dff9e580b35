"""From the logs to facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.evidence.claims import Claim
from grader.evidence.code import code_of
from grader.evidence.doubts import doubts_about
from grader.evidence.runs import runs_in
from grader.evidence.telling import told
from grader.evidence.trouble import raised_in, signs_in
from grader.evidence.words import listed, ranks_in_words
from grader.exercises.contract import Lab
from grader.judge.text import clean_line, clean_text

_MOST_PARTS = 20
_NOT_ONLY_LOGS = ".txt"


class LogText(Protocol):
    """A log as the intake gives it: a `grader.intake.logs.Log`."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def left_out(self) -> int: ...


@dataclass(frozen=True)
class Evidence:
    """What the logs say, none of it proof. ``facts`` are sentences, the weightiest first.

    ``complete``: every rank printed every comparison that the handout's driver makes, and came to the end;
    None when that cannot be told. ``consistent``: the code handed in may have printed this; None when there
    is nothing to tell it by.
    """

    files: tuple[str, ...]
    facts: tuple[str, ...]
    world_size: int | None = None
    claims: tuple[Claim, ...] = ()
    complete: bool | None = None
    consistent: bool | None = None


def read_evidence(logs: Sequence[LogText], code_source: Mapping[str, str], lab: Lab) -> Evidence:
    """The facts in ``logs``. ``code_source`` has the Python files that were handed in with them, by path.

    A pure function of its arguments, which are hostile. Never raises.
    """
    text = "\n".join(clean_text(log.text, len(log.text)) for log in logs)
    code = code_of(code_source, lab)
    tellings = [told(run, code, lab) for run in runs_in(text, lab.last_line)]
    # Of several runs, the last whole one; where none is, the last of which anything is there.
    best = max(reversed(tellings), key=lambda telling: (telling.is_whole, telling.says_anything))
    cut = [log for log in logs if log.left_out]
    nothing = not any(telling.says_anything for telling in tellings)
    raised = raised_in(text, code.lines)
    signs = signs_in(text)
    doubts, was_checked = doubts_about(text, best.run, code)
    only_notes = all(log.name.lower().endswith(_NOT_ONLY_LOGS) for log in logs)
    facts = [
        *doubts,
        *(_exception(one.type, one.message, one.file, one.line, one.ranks) for one in raised),
        *([f"The logs show trouble: {listed(signs)}."] if signs else []),
        *(["There is nothing in them that a run prints."] if nothing else best.facts()),
        *(f"{log.left_out} bytes in the middle of {log.name} were not read." for log in cut),
        *([f"They hold {len(tellings)} runs; this is about one of them."] if len(tellings) > 1 else []),
    ]
    unknown = bool(cut) or (nothing and only_notes and not raised and not signs)
    return Evidence(
        files=tuple(clean_line(log.name) for log in logs),
        facts=tuple(clean_line(fact, 400) for fact in facts),
        world_size=best.run.world_size,
        claims=tuple(best.claims[:_MOST_PARTS]),
        complete=True if best.is_whole else None if unknown else False,
        consistent=not doubts if was_checked else None,
    )


def _exception(kind: str, message: str, file: str, line: int, ranks: Iterable[int]) -> str:
    place = f" at {file}:{line}" if file else ""
    on = f" on {ranks_in_words(sorted(ranks))}" if ranks else ""
    return f"The log shows {kind}{place}{on}" + (f": {clean_line(message, 160)}" if message else ".")
