"""Signs of trouble in a log: exceptions with their place, time-outs, kills, and what Slurm says of a job.

What is in nearly every log is no trouble: the OMP_NUM_THREADS banner, NCCL's remarks on barriers, a
directory that slurmstepd could not change to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

MOST_RAISED = 4

SIGNS = (
    (r"CANCELLED AT [^\n]{0,60}DUE TO TIME LIMIT", "Slurm ended the job at its time limit"),
    (r"CANCELLED AT (?![^\n]{0,60}DUE TO TIME LIMIT)", "the Slurm job was cancelled"),
    (
        r"oom[-_]kill|cgroup out-of-memory handler|OUT_OF_MEMORY",
        "a process was killed because the job ran out of memory",
    ),
    (r"CUDA out of memory|torch\.OutOfMemoryError", "a GPU ran out of memory"),
    (
        r"Watchdog caught collective operation timeout",
        "NCCL's watchdog waited in vain for a collective: the ranks did not all make it",
    ),
    (
        r"Timed out waiting [0-9]{1,12}ms for|Application timeout caused pair closure",
        "gloo waited in vain for another rank",
    ),
    (r"Connection closed by peer|Connection reset by peer", "a rank lost its connection to another one"),
    (r"nccl(?:UnhandledCuda|System|Internal|Remote)Error|ncclInvalidUsage", "NCCL reported an error"),
    (r"EADDRINUSE|Address already in use", "the port for the ranks to meet at was taken"),
    (
        r"RendezvousConnectionError|RendezvousTimeoutError|DistNetworkError",
        "the ranks did not meet",
    ),
    (r"Signal 11 \(SIGSEGV\)|Segmentation fault", "a process crashed (segmentation fault)"),
    (r"Signal 9 \(SIGKILL\)", "a rank was killed from outside"),
    (r"ChildFailedError", "torchrun ended the run because a rank failed"),
)
"""What is looked for, and what it means, in words for a list."""

_MARKS = r"(?P<marks>(?:(?:\[[a-z]{1,10}[0-9]{1,4}\]|[0-9]{1,4}):[^\S\n]{0,8}){0,3})"
_FRAME = re.compile(
    rf'^{_MARKS}[^\S\n]{{0,8}}File "(?P<path>[^"\n]{{1,400}})", line (?P<line>[0-9]{{1,6}})[^\n]{{0,200}}'
    r"(?=\n(?P<code>[^\n]{0,400}))",
    re.MULTILINE,
)
_RAISED = re.compile(
    rf"^{_MARKS}(?P<type>[A-Za-z_][\w.]{{0,100}}(?:Error|Exception|Interrupt|Exit))"
    r"(?::[^\S\n]*(?P<message>[^\n]{0,300}))?$",
    re.MULTILINE,
)
_OF_A_RANK = re.compile(r"\[rank([0-9]{1,4})\]")
_MARKED = re.compile(r"^(?:(?:\[[a-z]{1,10}[0-9]{1,4}\]|[0-9]{1,4}):[^\S\n]{0,8}){0,3}")
_OF_THE_LAUNCHER = {"ChildFailedError", "SignalException"}


@dataclass(frozen=True)
class Frame:
    """One line of a traceback: the file's name without its folders, and what was printed as its source."""

    file: str
    line: int
    code: str


@dataclass
class Raised:
    """An exception, once for all ranks that raised it at this place ("" and 0: not in what was handed in)."""

    type: str
    message: str
    file: str
    line: int
    ranks: set[int] = field(default_factory=set)


def signs_in(text: str) -> list[str]:
    """What went wrong around the program, in words without a full stop."""
    return [words for sign, words in SIGNS if re.search(sign, text)]


def frames_in(text: str, files: Collection[str]) -> Iterator[Frame]:
    """The frames of tracebacks that are in one of ``files`` (names without folders)."""
    for found in _FRAME.finditer(text):
        if (name := _name(found["path"])) in files:
            yield Frame(name, int(found["line"]), _MARKED.sub("", found["code"]).strip())


def raised_in(text: str, files: Collection[str]) -> list[Raised]:
    """The exceptions, each with the innermost place in ``files`` that its traceback names."""
    places: dict[str, tuple[str, int]] = {}  # of each rank's traceback so far
    causes: dict[tuple[str, str, int], Raised] = {}
    tokens = sorted([*_FRAME.finditer(text), *_RAISED.finditer(text)], key=lambda found: found.start())
    for found in tokens:
        rank = (_OF_A_RANK.search(found["marks"]) or ["", ""])[1]
        if found.re is _FRAME:
            if (name := _name(found["path"])) in files:
                places[rank] = (name, int(found["line"]))
            continue
        kind = found["type"].rpartition(".")[2]
        file, line = places.pop(rank, ("", 0))
        if kind in _OF_THE_LAUNCHER:
            continue
        cause = causes.setdefault((kind, file, line), Raised(kind, found["message"] or "", file, line))
        if rank:
            cause.ranks.add(int(rank))
    return list(causes.values())[:MOST_RAISED]


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
