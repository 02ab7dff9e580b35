"""Reports as full as they get, made by hand: for the tests of pages, and for the pictures of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from grader.report.schema import (
    CaseRow,
    CheckPart,
    DifferenceRow,
    ExercisePart,
    FindingRow,
    IgnoredFile,
    OutputRow,
    RankRow,
    Report,
    SubmissionPart,
    TheoryRow,
    TimelineRow,
    WorkRow,
)
from tests.report.timelines import collectives, deadlocked, pipeline

Make = Callable[[CaseRow], CaseRow]

TITLES = {
    "script": "The whole script",
    "single_step": "Part 1: single step",
    "grad_accumulation": "Part 2: gradient accumulation",
    "data_parallel": "Part 3: data parallel",
    "column_parallel": "Part 4: column parallel",
    "row_parallel": "Part 5: row parallel",
    "pipeline": "Part 6: pipeline parallel",
}
CHECKS = {
    "script": ("script",),
    "single_step": ("baseline", "hidden"),
    "grad_accumulation": ("baseline", "hidden", "own_share"),
    "data_parallel": ("baseline", "hidden", "own_share"),
    "column_parallel": ("baseline", "hidden", "input_gradient", "own_share"),
    "row_parallel": ("baseline", "hidden", "input_gradient", "own_share"),
    "pipeline": ("baseline", "hidden", "own_share"),
}
POINTS = {"script": 10.0, "single_step": 10.0, "grad_accumulation": 15.0, "data_parallel": 15.0,
          "column_parallel": 20.0, "row_parallel": 15.0, "pipeline": 15.0}  # fmt: skip
HANDOUT = {"global_batch_size": 128, "input_dim": 64, "output_dim": 32}


def rank_row(rank: int, status: str = "passed", largest: float | None = 2.4e-7) -> RankRow:
    return RankRow(
        rank=rank,
        status=status,
        match=None if status in ("missing", "error") else status == "passed",
        max_diff=largest,
        mean_diff=None if largest is None else largest / 4,
    )


def case(world_size: int = 4, seed: int = 42, sizes: dict[str, int] | None = None, **more: object) -> CaseRow:
    ranks = tuple(rank_row(rank) for rank in range(world_size))
    fields = {
        "status": "passed",
        "ranks": ranks,
        "sizes": sizes or {},
        "seed": seed,
        "world_size": world_size,
    }
    return CaseRow.model_validate(fields | more)


def hidden() -> tuple[CaseRow, ...]:
    sizes = ((1, 90, 42, 27), (2, 150, 54, 22), (4, 120, 60, 36))
    return tuple(
        case(
            ranks,
            1_207_331_804 + ranks,
            {"global_batch_size": batch, "input_dim": rows, "output_dim": columns},
        )
        for ranks, batch, rows, columns in sizes
    )


def exercise(name: str, *, change: Make = lambda one: one, **more: object) -> ExercisePart:
    """All right, but for what ``change`` makes of each case."""
    checks = []
    for check in CHECKS[name]:
        cases = tuple(map(change, hidden() if check == "hidden" else (case(),)))
        if check == "own_share" and not any(one.work for one in cases):
            cases = tuple(with_work(one) for one in cases)
        worth = POINTS[name] / len(CHECKS[name])
        passed = all(one.status == "passed" for one in cases)
        status = "passed" if passed else "failed"
        checks.append(
            CheckPart(name=check, status=status, score=worth * passed, max_score=worth, cases=cases)
        )
    status = "passed" if all(check.status == "passed" for check in checks) else "failed"
    score = sum(check.score for check in checks)
    fields = {"name": name, "title": TITLES[name], "status": status, "score": score,
              "max_score": POINTS[name], "checks": tuple(checks)}  # fmt: skip
    return ExercisePart.model_validate(fields | more)


def report(*changed: ExercisePart, name: str = "right.zip", **more: object) -> Report:
    """All right, but for these exercises."""
    instead = {part.name: part for part in changed}
    parts = tuple(instead.get(exercise_name) or right_part(exercise_name) for exercise_name in TITLES)
    score, most = (round(sum(getattr(part, key) for part in parts), 6) for key in ("score", "max_score"))
    fields: dict[str, object] = {
        "submission": SubmissionPart(
            name=name,
            sha256="5f0c2d6f0e7d4f2b9a7a3a7d0a0b4c9be1b0c6b1f2a94a7d8d1f0f6f7c3e9a10",
            files=("assignment4.py",),
            ignored=(IgnoredFile(name="utils.py", reason="the staff's own is used"),
                     IgnoredFile(name="slurm-8812.out", reason="no Python file")),
        ),
        "status": "passed" if score == most else "failed",
        "score": score, "max_score": most, "exercises": parts,
        "machine": {"grader": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "cores": 8},
        "sandbox": "bwrap", "launcher": "fork", "device": "cpu", "seed": 417820331,
        "command": f"grader check {name} --seed 417820331", "seconds": 6.132,
    }  # fmt: skip
    return Report.model_validate(fields | more)


def right_part(name: str) -> ExercisePart:
    timelines: dict[str, Callable[[int], tuple[TimelineRow, ...]]] = {
        "data_parallel": lambda world_size: collectives(world_size, ("all_reduce",) * 2),
        "column_parallel": lambda world_size: collectives(world_size, ("all_gather", "all_reduce")),
        "row_parallel": lambda world_size: collectives(world_size, ("all_gather", "all_reduce")),
        "pipeline": lambda world_size: pipeline(world_size),
    }
    make = timelines.get(name)
    if make is None:
        return exercise(name)
    return exercise(name, change=lambda one: one.model_copy(update={"timeline": make(one.world_size)}))


def right() -> Report:
    return report()


def shard_order() -> Report:
    """Ranks gather the shards of the weight in the wrong order."""
    message = (
        "The full weight has the right shards in the wrong order: columns 0 to 7 hold the shard of rank 1,"
        " and columns 8 to 15 that of rank 0. `all_gather` fills its list by rank: concatenate it in that"
        " order, and look at how the list is indexed in `gather_weight`."
    )
    source = (
        (171, "    shards = [torch.empty_like(own) for _ in range(world_size)]"),
        (172, "    dist.all_gather(shards, own)"),
        (173, "    order = sorted(range(world_size), key=lambda r: r ^ 1)"),
        (174, "    return torch.cat([shards[r] for r in order], dim=1)"),
        (175, ""),
    )
    findings = tuple(
        FindingRow(code="shard-order", message=message, check=check, ranks=(0, 1, 2, 3),
                   file="assignment4.py", line=174, source=source)
        for check in ("baseline", "hidden")
    )  # fmt: skip

    def swapped(one: CaseRow) -> CaseRow:
        timed = {"timeline": collectives(one.world_size, ("all_gather", "all_reduce"))}
        if one.world_size < 4 or one.work:
            return one.model_copy(update=timed)
        wide, high = one.sizes.get("output_dim", 32), one.sizes.get("input_dim", 64)
        grid = blocks(wide_from=0, wide_to=16, seed=one.seed)
        found = tuple(
            DifferenceRow(rank=rank, name="updated_weight", shape=(high, wide), grid=grid)
            for rank in range(4)
        )
        ranks = tuple(rank_row(rank, "failed", 3.41) for rank in range(4))
        return one.model_copy(update={**timed, "status": "failed", "ranks": ranks, "differences": found})

    changed = exercise("column_parallel", change=swapped, findings=findings)
    checks = tuple(
        right_check(check) if check.name in ("own_share", "input_gradient") else check
        for check in changed.checks
    )
    changed = changed.model_copy(update={"checks": checks, "score": sum(check.score for check in checks)})
    return report(changed, name="shard_order.zip")


def right_check(check: CheckPart) -> CheckPart:
    cases = [
        with_work(case(one.world_size, one.seed, dict(one.sizes))) if check.name == "own_share" else case()
        for one in check.cases
    ]
    return check.model_copy(update={"status": "passed", "score": check.max_score, "cases": tuple(cases)})


def blocks(
    wide_from: int, wide_to: int, seed: int = 0, largest: float = 3.41
) -> tuple[tuple[float, ...], ...]:
    """32 x 32 patches of rounding, and of large differences in these columns."""
    draw = random.Random(seed)
    grid = [
        [
            min(largest, abs(draw.gauss(0, 1.1)) + 0.02)
            if wide_from <= column < wide_to
            else draw.random() * 3e-7
            for column in range(32)
        ]
        for _ in range(32)
    ]
    grid[11][wide_from] = largest
    return tuple(tuple(line) for line in grid)


def deadlock() -> Report:
    """Every stage of the pipeline waits for the one behind it before it sends."""
    message = (
        "Nobody could go on: rank 0 waits at line 241 for rank 1 to receive, rank 1 waits at line 233 for"
        " rank 2, rank 2 waits at line 233 for rank 3 and rank 3 waits at line 233 for rank 0. Each rank"
        " waits for the next one, so none ever sends: a stage must receive from the stage before it,"
        " `rank - 1`."
    )
    source = (
        (230, "    for batch in micro_batches:"),
        (231, "        if rank > 0:"),
        (232, "            buffer = torch.empty(len(batch), input_dim)"),
        (233, "            dist.recv(buffer, src=(rank + 1) % world_size)"),
        (234, "            batch = buffer.requires_grad_()"),
        (235, "        output = stage(batch)"),
        (239, "        if rank < world_size - 1:"),
        (240, "            # Whoever is next takes it from here."),
        (241, "            dist.send(output.detach(), dst=rank + 1)"),
        (242, "        outputs.append(output)"),
    )
    findings = tuple(
        FindingRow(code="deadlock", message=message, check=check, ranks=(0, 1, 2, 3),
                   file="assignment4.py", line=233, source=source)
        for check in ("baseline", "hidden", "own_share")
    )  # fmt: skip

    def stuck(one: CaseRow) -> CaseRow:
        if one.world_size == 1:
            return one
        ranks = tuple(rank_row(rank, "missing", None) for rank in range(one.world_size))
        update = {"status": "failed", "ranks": ranks, "timeline": deadlocked(one.world_size)}
        return one.model_copy(update=update)

    output = (OutputRow(rank=0, text="stage 0 holds layers 0 to 0\nsending micro-batch 0\n"),)
    changed = exercise("pipeline", change=stuck, findings=findings, output=output)
    return report(changed, name="deadlock.zip")


def with_work(one: CaseRow, times: Iterable[int] = ()) -> CaseRow:
    """The case with what was measured: as much as in theory, or so many times that, by rank."""
    factors = [*times] or [1] * one.world_size
    work = tuple(
        WorkRow(rank=rank, flops=393_216 * factor, gradient_rows=(), collectives=(("all_reduce", (64, 32)),))
        for rank, factor in enumerate(factors)
    )
    passed_on = {row.rank: sum(span.bytes for span in row.spans) for row in one.timeline}
    theory = tuple(
        TheoryRow(rank=rank, flops=393_216, bytes=passed_on.get(rank, 8192)) for rank in range(one.world_size)
    )
    return one.model_copy(update={"work": work, "theory": theory})
