"""What is run and what comes back: the values that pass between `run` and `judge`.

Nothing here imports torch, so that the command line starts quickly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.exercises.contract import Case


@dataclass(frozen=True)
class Limits:
    """What one job may use. Megabytes are 2**20 bytes."""

    seconds: float = 20.0
    memory_mb: int = 4096
    processes: int = 256
    disk_mb: int = 64
    output_kb: int = 1024


@dataclass(frozen=True)
class Job:
    """One launch of ranks, for cases of one exercise and one world size, which run in this order."""

    run_id: str
    exercise: str
    world_size: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class RankEnd:
    """What was seen of one rank from outside: never a verdict, and nothing of it is believed for one.

    ``output`` is what it printed (bounded; raw text for people). ``finished`` says that it came to
    its own end; ``case`` is the index of the case that it had begun last (-1: none).
    """

    rank: int
    started: bool
    finished: bool
    case: int
    output: str = ""


@dataclass(frozen=True)
class JobResult:
    """How a job ended, and the raw files that its ranks left.

    ``ended`` is one of ``finished`` (every rank came to its end, whatever the values), ``died`` (a rank
    was gone before its end), ``time-limit``, ``memory-limit``, ``process-limit``, ``output-limit``, and
    ``error`` (the grader could not run it: ``detail`` says why). ``files`` maps the names
    ``case<index>-rank<rank>.json`` and ``case<index>-rank<rank>.safetensors`` to their bytes: untrusted.
    """

    job: Job
    ended: str
    detail: str = ""
    ranks: tuple[RankEnd, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
