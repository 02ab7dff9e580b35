"""What the ranks of a case communicated, from their logs. Untrusted text, like all that a rank leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.job import JobResult
from grader.judge.text import clean_line

_LOG_BYTES = 1 << 20
_POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv"})


class Operation(BaseModel):
    """One call of torch.distributed by a rank: which, from which line, and on what.

    ``src`` and ``dst`` are ranks; ``op`` is the reduction; ``shape`` and ``dtype`` are those of the rank's
    own tensor. ``waits``: not the call itself but the ``wait()`` of what it returned.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)

    number: Annotated[int, Field(ge=0, le=10**9)] = 0
    name: Annotated[str, Field(max_length=60, pattern="^[a-z_]+$")]
    file: Annotated[str, Field(max_length=500)] = ""
    line: Annotated[int, Field(ge=0, le=10**9)] = 0
    src: Annotated[int, Field(ge=-1, le=10**6)] | None = None
    dst: Annotated[int, Field(ge=-1, le=10**6)] | None = None
    op: Annotated[str, Field(max_length=40)] = ""
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=16)] | None = None
    dtype: Annotated[str, Field(max_length=40)] = ""
    subgroup: bool = False
    waits: bool = False

    @property
    def is_message(self) -> bool:
        """Whether it is a send or a receive, and not a collective."""
        return self.name in _POINT_TO_POINT

    @property
    def peer(self) -> int | None:
        """The rank that a send or a receive is for."""
        return self.dst if self.name.endswith("send") else self.src

    def meets(self, other: Operation) -> bool:
        """Whether two ranks' collectives fit together."""
        return self._kind == other._kind

    @property
    def _kind(self) -> tuple[object, ...]:
        return self.name, self.src, self.dst, self.op, self.shape, self.dtype

    def __str__(self) -> str:
        called = self.name
        if self.is_message:
            called += f" {'to' if self.name.endswith('send') else 'from'} rank {self.peer}"
        elif self.src is not None or self.dst is not None:
            called += f"(src={self.src})" if self.src is not None else f"(dst={self.dst})"
        if self.waits:
            called = f"the wait for {called}"
        return f"{called} at {self.place}" if self.line else called

    @property
    def place(self) -> str:
        """``line 12`` of the student's file."""
        return f"line {self.line}"

    @property
    def tensor(self) -> str:
        """``[64, 32] torch.float32``."""
        return f"{self.shape} {clean_line(self.dtype, 40)}" if self.shape is not None else "no tensor"


def logs(result: JobResult, case_index: int) -> dict[int, list[Operation]]:
    """Each rank's operations in the case, in the order in which they began. Bad lines are left out."""
    return {
        rank: [made for said in log_of(result, case_index, rank) if (made := parse_operation(said))]
        for rank in range(result.job.world_size)
    }


def parse_operation(data: object) -> Operation | None:
    """An operation from what a rank said, or None."""
    try:
        return Operation.model_validate(data)
    except ValidationError:
        return None


def waiting(result: JobResult, case_index: int) -> Mapping[int, Operation]:
    """The operation of this case in which each rank stood still when the job was ended as a deadlock. A rank
    that waits in a later case has come through this one."""
    here = [end for end in result.ranks if end.waits is not None and end.case == case_index]
    found = {end.rank: parse_operation(end.waits) for end in here}
    return {rank: operation for rank, operation in found.items() if operation is not None}


def log_of(result: JobResult, case_index: int, rank: int) -> Iterator[object]:
    """What stands in the lines of a rank's log of the case, in order: any JSON values."""
    for line in result.files.get(f"case{case_index}-rank{rank}.operations", b"")[:_LOG_BYTES].splitlines():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue
