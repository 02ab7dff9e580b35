"""Reading what the ranks of a job left behind: untrusted bytes in, plain tensors or a reason out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import safetensors.torch
import torch

from grader.job import JobResult
from grader.judge.record import BadRecord, Record, parse_record

MOST_TENSOR_BYTES = 256 * 2**20

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class RankArtifact:
    """What one rank left for one case.

    ``record`` is None when there was no valid one, and ``problem`` then says why. ``tensors`` are plain
    CPU tensors, by name; a record whose tensor file is missing, unreadable or of other content is no
    valid record.
    """

    rank: int
    record: Record | None = None
    tensors: Tensors = field(default_factory=dict)
    problem: str = ""

    @property
    def returned(self) -> bool:
        """Whether the rank says that the student's code came back with something."""
        return self.record is not None and self.record.outcome == "returned"


def read_artifacts(result: JobResult, case_index: int) -> tuple[RankArtifact, ...]:
    """One artifact for each rank of the job's world size, whatever was left. Never raises."""
    return tuple(_read(result, case_index, rank) for rank in range(result.job.world_size))


def _read(result: JobResult, case_index: int, rank: int) -> RankArtifact:
    stem = f"case{case_index}-rank{rank}"
    data = result.files.get(f"{stem}.json")
    if data is None:
        return RankArtifact(rank, problem="it left no record")
    try:
        record = parse_record(data)
        _check_identity(record, result, case_index, rank)
        tensors = _read_tensors(result.files.get(f"{stem}.safetensors"), record)
    except BadRecord as error:
        return RankArtifact(rank, problem=f"its record cannot be used: {error}")
    return RankArtifact(rank, record, tensors)


def _check_identity(record: Record, result: JobResult, case_index: int, rank: int) -> None:
    claimed = (record.run, record.case, record.rank, record.world_size)
    if claimed != (result.job.run_id, case_index, rank, result.job.world_size):
        raise BadRecord("it belongs to another run, case, rank or world size")
    if record.outcome == "raised" and record.error is None:
        raise BadRecord("it says that an exception was raised, and not which")


def _read_tensors(data: bytes | None, record: Record) -> dict[str, torch.Tensor]:
    tensors = {} if data is None else _load(data)
    due = set(record.tensors) - set(record.problems)
    if set(tensors) != due:
        raise BadRecord("the tensors that it lists are not those in its tensor file")
    for name, tensor in tensors.items():
        described = record.tensors[name]
        if (described.dtype, described.shape) != (str(tensor.dtype), list(tensor.shape)):
            raise BadRecord("a tensor in its tensor file is not as described")
    return tensors


def _load(data: bytes) -> dict[str, torch.Tensor]:
    if len(data) > MOST_TENSOR_BYTES:
        raise BadRecord(f"its tensor file is larger than {MOST_TENSOR_BYTES} bytes")
    try:
        tensors = safetensors.torch.load(data)
        if not all(type(tensor) is torch.Tensor for tensor in tensors.values()):
            raise BadRecord("its tensor file holds something else than tensors")
        return dict(tensors)
    except (KeyboardInterrupt, SystemExit, BadRecord):
        raise
    except BaseException as error:  # a panic in the parser is no Exception
        raise BadRecord(f"its tensor file cannot be read ({type(error).__name__})") from None
