"""What is run and what comes back: the values that pass between `run` and `judge`.

Nothing here imports torch, so that the command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.exercises.contract import Case


@dataclass(frozen=True)
class Limits:
    """What one job may use, and what each rank may leave of a case. Megabytes are 2**20 bytes."""

    seconds: float = 20.0
    memory_mb: int = 4096
    processes: int = 256
    disk_mb: int = 64
    output_kb: int = 1024
    artifact_mb: int = 16


@dataclass(frozen=True)
class Job:
    """One launch of ranks, for cases of one world size, which run in this order.

    ``submission`` is the name of the folder in which it is staged. ``shares`` are the tensors (safetensors)
    that a rank is given in place of what it draws, by ``case<index>-rank<rank>``: no other rank ever sees
    them. ``seconds`` is its time limit, where that is less than `Limits.seconds`.
    """

    run_id: str
    world_size: int
    cases: tuple[Case, ...]
    submission: str = "submission"
    shares: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float = float("inf")

    @property
    def exercises(self) -> tuple[str, ...]:
        """The exercises that it has cases of, in order of first appearance."""
        return tuple(dict.fromkeys(case.exercise for case in self.cases))


@dataclass(frozen=True)
class RankEnd:
    """What was seen of one rank from outside: never a verdict, and nothing of it is believed for one.

    ``output`` is what it printed (bounded; raw text for people). ``finished`` says that it came to its own
    end; ``case`` is the index of the case that it had begun last (-1: none). ``waits`` is the operation in
    which it stood still in a deadlock (see `grader.run.communication`).
    """

    rank: int
    started: bool
    finished: bool
    case: int
    output: str = ""
    waits: Mapping[str, object] | None = None


@dataclass(frozen=True)
class JobResult:
    """How a job ended, and the raw files that its ranks left.

    ``ended`` is one of ``finished`` (every rank came to its end, whatever the values), ``died`` (a rank
    was gone before its end), ``deadlock`` (none could go on), ``time-limit``, ``memory-limit``,
    ``process-limit``, ``output-limit``, and ``error`` (the grader could not run it: ``detail`` says why).
    ``files`` maps the names ``case<index>-rank<rank>`` with the suffixes ``.json``, ``.safetensors`` and
    ``.operations`` to their bytes: untrusted.
    """

    job: Job
    ended: str
    detail: str = ""
    ranks: tuple[RankEnd, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
