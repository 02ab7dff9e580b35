"""The JSON record of a rank, as a strict model: see ``grader/run/RECORD.md``.

It comes from a process that ran student code, so nothing is coerced, nothing is unbounded and no key is
unknown: what does not fit is no record.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

MOST_BYTES = 2**20
MOST_TENSORS = 1024
MOST_WORK = 200


def _encodable(value: object) -> object:
    """A lone surrogate is valid in Python and in JSON, and may well be in what a student's code says."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


Word = Annotated[str, BeforeValidator(_encodable), Field(max_length=1_000)]
Message = Annotated[str, BeforeValidator(_encodable), Field(max_length=200_000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
Line = Annotated[int, Field(ge=0, le=10_000_000)]
Dimension = Annotated[int, Field(ge=0, le=2**40)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Described(_Strict):
    """What a tensor was when the student returned it."""

    dtype: Word
    shape: Annotated[list[Dimension], Field(max_length=16)]


class RaisedError(_Strict):
    """An exception that left the student's code; ``line`` is the innermost one of their own file."""

    type: Word
    message: Message = ""
    stage: Literal["load", "call"] = "call"
    file: Message | None = None
    line: Line | None = None
    code: Message | None = None
    traceback: Message | None = None


class Compared(_Strict):
    """One call of ``compare_tensors`` in a whole-file exercise."""

    prefix: Message = ""
    line: Line | None = None
    itself: bool = False


class Exchanged(_Strict):
    """One operation on the process group, and the shape of its first tensor."""

    name: Word
    shape: Annotated[list[Dimension], Field(max_length=16)] = []


class Work(_Strict):
    """What the rank's recorder counted while it was driven (see `grader.exercises.work`)."""

    flops: Annotated[int, Field(ge=0, le=2**62)] = 0
    gradient_rows: Annotated[list[Dimension], Field(max_length=MOST_WORK)] = []
    rows: Annotated[list[Dimension], Field(max_length=MOST_WORK)] = []
    collectives: Annotated[list[Exchanged], Field(max_length=MOST_WORK)] = []
    taken_out: Annotated[int, Field(ge=0, le=2**62)] = 0


class Record(_Strict):
    """What a rank says about one case. Never evidence of success by itself."""

    run: Word
    case: int
    rank: int
    world_size: int
    outcome: Literal["returned", "raised", "wrong-type", "missing"]
    tensors: Annotated[dict[Name, Described], Field(max_length=MOST_TENSORS)] = {}
    problems: Annotated[dict[Name, Message], Field(max_length=MOST_TENSORS)] = {}
    message: Message | None = None
    error: RaisedError | None = None
    comparisons: Annotated[list[Compared], Field(max_length=MOST_TENSORS // 2)] | None = None
    work: Work | None = None
    seconds: Annotated[float, Field(ge=0)] = 0.0


class BadRecord(ValueError):
    """Bytes that are no record; the message says why, in words for a report."""


def parse_record(data: bytes) -> Record:
    """The record in ``data``. Raises `BadRecord`, and nothing else, whatever the bytes."""
    if len(data) > MOST_BYTES:
        raise BadRecord(f"it is larger than {MOST_BYTES} bytes")
    try:
        return Record.model_validate(json.loads(data.decode(), parse_constant=_refuse))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadRecord(f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"[:300]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadRecord(f"it is not JSON ({type(error).__name__})") from None


def _refuse(token: str) -> NoReturn:
    raise ValueError(token)
