"""``report.json``, schema 1: the one source of every other format.

Numbers are finite, so that no NaN token can reach a JSON file, and text that came from a student has been
cleaned before it gets here (`grader.judge.text.clean_text`).
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

CaseStatus = Literal["passed", "failed", "error"]
RankStatus = Literal["passed", "failed", "missing", "error"]
ExerciseStatus = Literal["passed", "failed", "error", "missing", "skipped"]
Points = Annotated[float, Field(ge=0)]
Difference = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class IgnoredFile(_Model):
    """A file that was handed in and not used, and why."""

    name: str
    reason: str


class SubmissionPart(_Model):
    """What was handed in. ``sha256`` is that of the file, or of a directory's staged content and its logs."""

    name: str
    sha256: str
    files: tuple[str, ...] = ()
    ignored: tuple[IgnoredFile, ...] = ()


class RankRow(_Model):
    """One rank in one case. What could not be compared is null."""

    rank: int
    status: RankStatus
    match: bool | None
    max_diff: Difference | None
    mean_diff: Difference | None


class WorkRow(_Model):
    """What one rank's recorder counted: facts from a process that ran student code.

    ``flops`` are those of its matrix products; ``gradient_rows`` the rows of the batch in each gradient of
    a whole weight; ``collectives`` the operations on the process group, each with its first tensor's shape;
    ``bytes`` those of its own tensor in each of its calls.
    """

    rank: int
    flops: int
    gradient_rows: tuple[int, ...]
    collectives: tuple[tuple[str, tuple[int, ...]], ...]
    bytes: Annotated[int, Field(ge=0)] = 0


class DifferenceRow(_Model):
    """|student - baseline| of one tensor that a rank returned, made small enough to draw.

    ``shape`` is the tensor's. ``grid`` has the largest difference in each of at most 32 x 32 patches of it,
    row by row; null where the student's value is not finite.
    """

    rank: int
    name: str
    shape: tuple[int, ...]
    grid: tuple[tuple[Difference | None, ...], ...]


class SpanRow(_Model):
    """One operation on the process group, as the rank's recorder saw it: a fact from a process that ran
    student code.

    ``begin`` and ``end`` are seconds since the first rank began the case; an ``end`` of null means that the
    rank did not come back from it. ``peer`` is the rank that a send or a receive is for. ``bytes`` are those
    of the rank's own tensor. ``line`` is one of the student's ``file``.
    """

    name: str
    begin: Seconds
    end: Seconds | None
    peer: int | None = None
    bytes: Annotated[int, Field(ge=0)] = 0
    file: str = ""
    line: int = 0


class TimelineRow(_Model):
    """One rank's time in a case, in seconds since the first rank began it; between its spans it computes.
    An ``end`` of null means that it did not come to the end of the case.

    ``left_out`` operations are not in ``spans``, which are then the last ones and all unfinished ones: what
    the rank did before them is not known.
    """

    rank: int
    begin: Seconds
    end: Seconds | None
    left_out: Annotated[int, Field(ge=0)] = 0
    spans: tuple[SpanRow, ...] = ()


class TheoryRow(_Model):
    """What one rank has to do in a case by the strategy that it is about, to stand beside what it did:
    ``flops`` of matrix products, and ``bytes`` of the tensors that it passes to the process group."""

    rank: int
    flops: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=0)]


class CaseRow(_Model):
    """One case. ``sizes`` are the constants that were replaced; ``detail`` says why it is an error.

    In a report for students a hidden case has a ``seed`` of null, no numbers, and neither work nor times.

    ``whole_ranks`` had all of the data that was withheld from the others; ``rows`` are the rows of each rank,
    where the submission cuts up the batch in its own way; ``noise``: wrong numbers stood where data was
    withheld, in place of NaN. ``differences`` are there where ranks returned
    something of the right shape that is not right, ``timeline`` where ranks communicated, ``work`` and
    ``theory`` where the work was measured.
    """

    seed: int | None
    world_size: int
    sizes: dict[str, int]
    arguments: dict[str, int] = {}
    status: CaseStatus
    detail: str = ""
    whole_ranks: tuple[int, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    noise: bool = False
    ranks: tuple[RankRow, ...]
    work: tuple[WorkRow, ...] = ()
    theory: tuple[TheoryRow, ...] = ()
    differences: tuple[DifferenceRow, ...] = ()
    timeline: tuple[TimelineRow, ...] = ()


class CheckPart(_Model):
    """One question asked of an exercise: all of its points, or none. An error's points count nowhere."""

    name: str
    status: CaseStatus
    score: Points
    max_score: Points
    cases: tuple[CaseRow, ...]


class FindingRow(_Model):
    """A named mistake. ``source`` are the student's own lines around ``line``, as (number, text)."""

    code: str
    message: str
    check: str
    ranks: tuple[int, ...]
    file: str | None
    line: int | None
    source: tuple[tuple[int, str], ...] = ()


class OutputRow(_Model):
    """The beginning and the end of what one rank printed.

    It printed that in case number ``case`` (from 0) of ``check``; null where other cases ran in the same
    process, or where it is not known.
    """

    rank: int
    text: str
    check: str = ""
    case: Annotated[int, Field(ge=0)] | None = None


class ExercisePart(_Model):
    """One exercise. ``output`` is there only when it did not pass."""

    name: str
    title: str
    status: ExerciseStatus
    score: Points
    max_score: Points
    checks: tuple[CheckPart, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    output: tuple[OutputRow, ...] = ()


class ClaimRow(_Model):
    """What a log says of one part: ``expected`` is what the handout's driver should print of it, "Tensors
    match: True" but for the weight before and after the step."""

    part: str
    ranks_matching: tuple[int, ...]
    ranks_not_matching: tuple[int, ...]
    expected: bool = True


class EvidencePart(_Model):
    """What the logs say that were handed in. Anybody can write a log: no verdict comes from it.

    ``facts`` are sentences, the weightiest first. ``complete``: every rank printed every comparison of the
    handout's driver, and came to its end. ``consistent``: the code handed in may have printed it, and the
    grader does not say otherwise of a part. Null is what cannot be told.
    """

    files: tuple[str, ...]
    facts: tuple[str, ...] = ()
    caution: str = "Anybody can write a log. No verdict, and no point for right or wrong, comes from it."
    world_size: int | None = None
    claims: tuple[ClaimRow, ...] = ()
    complete: bool | None = None
    consistent: bool | None = None


class Report(_Model):
    """Everything about one graded submission.

    ``seed`` is the master seed from which the hidden cases were drawn; ``command`` grades the same again. A
    report for students (`grader.report.audience`) has null and an empty text there.
    ``machine`` is what it ran on; ``seconds`` is wall time. ``notes`` are sentences for the reader.
    ``tolerance`` is the largest difference of a weight that counts as none (absolute plus relative).
    ``evidence`` is there where logs were handed in, which were read and not run.
    """

    schema_: Literal[1] = Field(default=1, alias="schema")
    submission: SubmissionPart
    status: Literal["passed", "failed", "error"]
    score: Points
    max_score: Points
    exercises: tuple[ExercisePart, ...]
    machine: dict[str, str | int | float | bool | None] = {}
    sandbox: str
    launcher: str
    device: str
    seed: int | None
    command: str
    notes: tuple[str, ...] = ()
    tolerance: Difference = 1e-5
    evidence: EvidencePart | None = None
    seconds: float

    def to_json(self) -> str:
        """The report as JSON text, with the keys in the order of the schema. ASCII only."""
        return _text(self.model_dump(mode="json", by_alias=True)) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """The report in a ``report.json``. Raises pydantic's ValidationError (a ValueError)."""
        return cls.model_validate_json(text)


def _text(value: object, margin: str = "") -> str:
    """JSON with an indent of 2; but a list or an object without others in it is one line: a drawing has a
    thousand numbers."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(part, dict | list) and part for part in parts):
        return json.dumps(value, allow_nan=False)
    inner = margin + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {_text(part, inner)}" for key, part in value.items()]
    else:
        lines = [inner + _text(part, inner) for part in parts]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return f"{opened}\n" + ",\n".join(lines) + f"\n{margin}{closed}"


def exit_status(report: Report) -> int:
    """0: full marks; 1: graded, marks lost; 3: some check could not be carried out (the grader's fault)."""
    if any(check.status == "error" for exercise in report.exercises for check in exercise.checks):
        return 3
    return 0 if report.status == "passed" else 1
