"""Did each rank do only its share? The judgement of the check ``own_share``.

What a rank is not the owner of is NaN there, and cannot be drawn again: finite, right weights prove that
the ranks needed each other. What they did then rests on the work that their recorders counted: how many rows
of the batch a backward pass was over, that no rank fetched everything and did the whole step itself, and that
none was idle where rank 0 was given all data so that it can send it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.exercises.contract import Case, Exercise
from grader.judge.artifacts import RankArtifact, Tensors
from grader.judge.evidence import Evidence
from grader.judge.findings import Finding, name_ranks
from grader.judge.near import close
from grader.judge.record import Work

#: The part of a whole step's FLOPs that a rank may do. A shared step with an unused forward pass over
#: everything comes to three quarters on four ranks; doing everything is one.
MOST_OF_THE_WORK = 0.9

#: The part of its share (one rank's part of the whole step) that each rank must do then. Counting misses what
#: a rank computes in another thread or without torch, so rank 0 may seem to do little; the others' idleness
#: shows all the same. The first stage of a pipeline needs no gradient of its input: two thirds of a share.
LEAST_OF_A_SHARE = 0.5

CODE = "not-parallel"

_WITHHELD = (
    "The weights are not finite when each rank's data is NaN wherever another rank is the owner, so the "
    "result depends on data that a rank has no business with: the work is not shared out. Each rank should "
    "compute with its own slice (rows, columns or layers) only and get the rest by communicating."
)
_WHOLE_WEIGHT = (
    "The rank computed the gradient of the whole weight, and should hold no more than its shard of it: the "
    "work is not shared out. Make the layer's parameter from the rank's own slice of the weight only."
)
_DRAWN = (
    "The weights are those of data that the function drew for itself instead of taking it from "
    "`create_batch`, `create_layers` and `torch.randn`: every rank computes the whole step from its own "
    "copy. Each rank should compute with its own slice only and get the rest by communicating."
)


def reached_withheld(findings: Sequence[Finding]) -> bool:
    """Whether what a rank was not given found its way into the weights."""
    return any(finding.message == _WITHHELD for finding in findings)


def may_have_looked(findings: Sequence[Finding]) -> bool:
    """Whether the code failed by an exception: it may be its own check that its data is finite."""
    return any(finding.code == "exception" for finding in findings)


def cut(work: Mapping[int, Work], batch: int, world_size: int) -> tuple[tuple[int, ...], ...]:
    """Which rows of the batch each rank takes, by what the ranks' recorders saw; empty unless that cuts up
    all ``batch`` rows into equal parts.

    The ranks may say what they like: they are then given these rows and no others.
    """
    rows = tuple(tuple(work[rank].rows) for rank in range(world_size) if rank in work)
    equal = all(len(own) * world_size == batch for own in rows)
    complete = sorted(row for own in rows for row in own) == list(range(batch))
    return rows if len(rows) == world_size and equal and complete else ()


def drew_its_own(evidence: Evidence, drawn: Mapping[int, Tensors]) -> tuple[int, ...]:
    """The ranks whose wrong values are those that the seed's own data leads to, which they were not given."""
    return tuple(
        rank
        for rank in evidence.wrong
        if rank in drawn
        and all(
            close(evidence.returned[rank][name], value, evidence.tolerance)
            for name, value in drawn[rank].items()
        )
    )


def explain(case: Case, findings: Sequence[Finding], drawn: Sequence[int]) -> list[Finding]:
    """What the findings about the values mean here: NaN that was reached, and data drawn a second time."""
    reached = {rank for found in findings if found.code == "not-finite" for rank in found.ranks}
    explained = [finding for finding in findings if finding.code != "not-finite"]
    if reached:
        explained.append(Finding(CODE, _WITHHELD, case.check, tuple(sorted(reached))))
    if drawn:
        explained.append(Finding(CODE, _DRAWN, case.check, tuple(drawn)))
    return explained


def too_much_work(
    exercise: Exercise, case: Case, artifacts: Sequence[RankArtifact], whole_flops: int
) -> list[Finding]:
    """Findings about the amount of work, for ranks whose values are right."""
    findings = _taken_out(case, artifacts)
    if findings:
        return findings
    if exercise.most_gradient_rows is not None:
        findings += _too_many_rows(exercise.most_gradient_rows(case), case, artifacts)
    if exercise.ranks_asked == "first":
        return findings or _no_backward_passes(case, artifacts[0])
    if not findings and case.world_size > 1:
        findings += _whole_step(case, artifacts, whole_flops)
    if not findings and case.whole_ranks:
        findings += _idle(case, artifacts, whole_flops)
    return findings


def _taken_out(case: Case, artifacts: Sequence[RankArtifact]) -> list[Finding]:
    """The whole batch as arrays or lists: what is computed with them is not counted."""
    batch = case.sizes["global_batch_size"] * case.sizes["input_dim"]
    taken = {a.rank: a.record.work.taken_out for a in artifacts if a.record is not None and a.record.work}
    over = {rank: count for rank, count in taken.items() if count >= batch}
    if not over:
        return []
    return [
        Finding(
            CODE,
            f"{name_ranks(tuple(over)).capitalize()} took {max(over.values())} numbers out of torch "
            "(`.numpy()`, `.tolist()`), which is at least the whole batch. What is computed outside of torch "
            "cannot be seen, so it does not count as a rank's share: compute with tensors.",
            case.check,
            tuple(sorted(over)),
        )
    ]


def _too_many_rows(limit: int, case: Case, artifacts: Sequence[RankArtifact]) -> list[Finding]:
    most = {
        artifact.rank: max(artifact.record.work.gradient_rows)
        for artifact in artifacts
        if artifact.record is not None and artifact.record.work and artifact.record.work.gradient_rows
    }
    over = {rank: rows for rank, rows in most.items() if rows > limit}
    if not over:
        return []
    if limit == 0:
        return [Finding(CODE, _WHOLE_WEIGHT, case.check, tuple(sorted(over)))]
    return [
        Finding(
            CODE,
            f"A backward pass went over {max(over.values())} rows of the batch, where {limit} are its part: "
            "the batch is not cut up. Let each backward pass work on its own slice of the rows only.",
            case.check,
            tuple(sorted(over)),
        )
    ]


def _no_backward_passes(case: Case, artifact: RankArtifact) -> list[Finding]:
    """Where one rank works alone: gradients of the weight over all of the batch, a part at a time."""
    work = artifact.record.work if artifact.record is not None else None
    batch = case.sizes["global_batch_size"]
    if work is not None and sum(work.gradient_rows) >= batch:
        return []
    seen = sum(work.gradient_rows) if work else 0
    return [
        Finding(
            CODE,
            f"Backward passes that give the weight's gradient went over {seen} of the {batch} rows of the "
            "batch, and the result is there all the same: it was computed in another way than by "
            "accumulating the gradients of micro-batches.",
            case.check,
            (artifact.rank,),
        )
    ]


def _whole_step(case: Case, artifacts: Sequence[RankArtifact], whole: int) -> list[Finding]:
    flops = {a.rank: a.record.work.flops for a in artifacts if a.record is not None and a.record.work}
    over = {rank: done for rank, done in flops.items() if done >= MOST_OF_THE_WORK * whole}
    if not over:
        return []
    return [
        Finding(
            CODE,
            f"{name_ranks(tuple(over)).capitalize()} did {max(over.values()) / max(whole, 1):.0%} of a whole "
            "step's arithmetic, with data fetched from others or for them: the work is not shared out. Let "
            "each rank compute with its own slice only, and communicate results.",
            case.check,
            tuple(sorted(over)),
        )
    ]


def _idle(case: Case, artifacts: Sequence[RankArtifact], whole: int) -> list[Finding]:
    least = LEAST_OF_A_SHARE * whole / case.world_size
    flops = {a.rank: a.record.work.flops for a in artifacts if a.record is not None and a.record.work}
    idle = tuple(rank for rank in range(case.world_size) if flops.get(rank, 0) < least)
    if not idle:
        return []
    return [
        Finding(
            CODE,
            f"{name_ranks(idle).capitalize()} did less than half of a rank's share of the step's "
            "arithmetic, and the result is there all the same: the work is not shared out. Let each rank "
            "compute with its own slice.",
            case.check,
            idle,
        )
    ]
