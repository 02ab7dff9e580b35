"""The rubric: points, cases and limits, as an instructor writes them in ``rubric.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from grader.intake.limits import IntakeLimits
from grader.job import Limits
from grader.rubric_errors import RubricError, problems_in

Positive = Annotated[int, Field(ge=1)]
Points = Annotated[float, Field(ge=0)]
Check = Literal["baseline", "hidden", "input_gradient", "own_share", "script"]

EVIDENCE = "evidence"
COMPLETE_LOG = "complete_log"
"""The exercise and the check by which points for a log are counted, where a rubric gives some."""

MUST_DIVIDE = (
    ("global_batch_size", "world_size"),
    ("global_batch_size", "accumulation_steps"),
    ("global_batch_size", "num_micro_batches"),
    ("input_dim", "world_size"),
    ("output_dim", "world_size"),
    ("num_layers", "world_size"),
)
"""What the handout lets students assume: the first is a multiple of the second, where both are set."""


def not_divisible(numbers: Mapping[str, int]) -> str | None:
    """The first pair of `MUST_DIVIDE` that ``numbers`` break, in words without a full stop."""
    for whole, divisor in MUST_DIVIDE:
        if whole in numbers and divisor in numbers and numbers[whole] % numbers[divisor]:
            return (
                f"{whole} = {numbers[whole]} cannot be divided by {divisor} = {numbers[divisor]},"
                " and students may assume that it can: choose a multiple"
            )
    return None


class _Part(BaseModel):
    """Unknown keys are refused, values are taken as written ("10" is no number), nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class RunLimits(_Part):
    """``[limits]``: what one job may use (see `grader.job.Limits`), and a submission.

    ``seconds`` of wall time; ``memory_mb`` and ``processes`` of all ranks together; ``disk_mb`` of
    files; ``output_kb`` of printed text for each rank; ``artifact_mb`` of tensors for each rank and case;
    ``submission_seconds`` for all jobs of a submission.
    """

    seconds: Annotated[float, Field(gt=0)] = Limits.seconds
    memory_mb: Positive = Limits.memory_mb
    processes: Positive = Limits.processes
    disk_mb: Positive = Limits.disk_mb
    output_kb: Positive = Limits.output_kb
    artifact_mb: Positive = Limits.artifact_mb
    submission_seconds: Annotated[float, Field(gt=0)] = 900.0

    def for_job(self) -> Limits:
        return Limits(**self.model_dump(exclude={"submission_seconds"}))


class HandInLimits(_Part):
    """``[intake]``: what a submission may hold; the fields of `grader.intake.IntakeLimits`."""

    archive_mb: Positive = IntakeLimits.archive_mb
    entries: Positive = IntakeLimits.entries
    total_mb: Positive = IntakeLimits.total_mb
    ratio: Positive = IntakeLimits.ratio
    files: Positive = IntakeLimits.files
    files_kb: Positive = IntakeLimits.files_kb

    def for_intake(self) -> IntakeLimits:
        return IntakeLimits(**self.model_dump())


def _with_student(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        if "student" not in groups:
            raise ValueError(f"{pattern!r} has no group (?P<student>...), which names the student")
    return patterns


class ClassNaming(_Part):
    """``[class]``: whose a hand-in is, by its name. The first of the patterns (regular expressions) that
    matches the beginning of a file's or folder's name names the student in its group ``student`` (and
    ``id``, where there is one); where none does, it is the name without its suffix. The defaults are those
    of Moodle and Canvas."""

    names: Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_with_student)] = (
        r"(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)_?",
        r"(?P<student>[^_]+)_(LATE_)?(?P<id>\d+)_\d+_",
    )


class BaselineCase(_Part):
    """``[baseline]``: sizes and seed are the handout's, so only the number of ranks is set."""

    world_size: Positive = 4


class HiddenCase(_Part):
    """One ``[[hidden]]`` entry: a configuration that every exercise is asked at a secret seed.

    ``sizes`` replace module-level constants of the student's file; ``arguments`` go to the exercises that
    take them.
    """

    world_size: Positive
    sizes: Mapping[str, Positive]
    arguments: Mapping[str, Positive] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _divides(self) -> HiddenCase:
        if problem := not_divisible({**self.sizes, **self.arguments, "world_size": self.world_size}):
            raise ValueError(problem)
        return self


def _some_points(points: Mapping[Check, float]) -> Mapping[Check, float]:
    if not points:
        raise ValueError('At least one check needs points (0 is allowed: "run it, it counts nothing")')
    return points


class ExercisePoints(_Part):
    """``[exercises.NAME]``: the checks that are made of an exercise, with their points (0: reported only)."""

    points: Annotated[Mapping[Check, Points], AfterValidator(_some_points)]

    @property
    def max_score(self) -> float:
        return sum(self.points.values())


class EvidencePoints(_Part):
    """``[evidence]``: points for the complete log of a run, whatever it says of right and wrong."""

    points: Points = 0.0


class Rubric(_Part):
    """A whole rubric. ``tolerance`` is the largest absolute difference from the baseline that is right."""

    title: Annotated[str, Field(min_length=1)]
    lab: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    tolerance: Annotated[float, Field(gt=0)] = 1e-5
    limits: RunLimits = RunLimits()
    intake: HandInLimits = HandInLimits()
    class_: Annotated[ClassNaming, Field(alias="class")] = ClassNaming()
    baseline: BaselineCase = BaselineCase()
    hidden: Annotated[tuple[HiddenCase, ...], Field(strict=False)] = ()  # TOML has lists, no tuples
    evidence: EvidencePoints = EvidencePoints()
    exercises: Mapping[str, ExercisePoints]

    @property
    def worth(self) -> dict[str, dict[str, float]]:
        """The points by exercise and check; those for a log come last, where there are any."""
        worth = {name: {str(c): p for c, p in part.points.items()} for name, part in self.exercises.items()}
        log = {EVIDENCE: {COMPLETE_LOG: self.evidence.points}} if self.evidence.points else {}
        return worth | log

    @property
    def max_score(self) -> float:
        return sum(sum(points.values()) for points in self.worth.values())

    @model_validator(mode="after")
    def _can_be_earned(self) -> Rubric:
        if not any(exercise.max_score for exercise in self.exercises.values()):
            raise ValueError("No exercise has points, so nothing can be earned")
        asked = [name for name, exercise in self.exercises.items() if "hidden" in exercise.points]
        if asked and not self.hidden:
            raise ValueError(
                f"exercises.{asked[0]} has points for hidden cases, but there is no [[hidden]] entry"
            )
        return self


def load_rubric(path: Path) -> Rubric:
    """Reads and checks a rubric. Raises `RubricError` with one line for each problem."""
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))  # some editors put a byte order mark first
    except OSError as error:
        raise RubricError(path, [("", f"The file cannot be read: {error.strerror}.")]) from error
    except UnicodeDecodeError as error:
        raise RubricError(path, [("", "The file is not text in UTF-8; save it as UTF-8.")]) from error
    except tomllib.TOMLDecodeError as error:
        raise RubricError(path, [("", f"This is not TOML: {error}.")]) from error
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        raise RubricError(path, list(problems_in(error, Rubric, data))) from error
