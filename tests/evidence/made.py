"""Logs made from the handout's formats, with the writes of the ranks in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.evidence import Evidence, read_evidence
from grader.exercises.contract import Exercise, Lab, Printed
from grader.intake.logs import Log

COURSE = Path(__file__).parents[2]
REFERENCE = (COURSE / "reference" / "assignment4.py").read_text(encoding="utf-8")

ORDINARY_ERR = """\
W1128 09:08:08.100000 26418 torch/distributed/run.py:874] Setting OMP_NUM_THREADS environment
 variable for each process to be 1 in default
slurmstepd: error: couldn't chdir to `/home/ada/a4': No such file or directory: going to /tmp instead
[rank0]:[W1128 09:08:10.1 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform
 barrier as devices used by this process are currently unknown. This can potentially cause a hang.
"""


def _nothing(*_: object) -> dict[str, object]:
    return {}


def _part(name: str, title: str, entry: str, printed: Printed) -> Exercise:
    return Exercise(name, title, (entry,), _nothing, _nothing, printed=printed)  # type: ignore[arg-type]


LAB = Lab(
    "assignment4",
    (
        Exercise("script", "The whole file under torchrun", (), _nothing, _nothing),  # type: ignore[arg-type]
        _part("single_step", "Part 1: one", "single_step", Printed(ranks="first", match=False)),
        _part(
            "grad_accumulation", "Part 2: two", "single_step_with_grad_accumulation", Printed(ranks="first")
        ),
        _part("data_parallel", "Part 3: three", "data_parallel_single_step", Printed("DataParallel")),
        _part("pipeline", "Part 4: four", "pipeline_parallel_single_step", Printed("Pipeline")),
    ),
    {},
    42,
    last_line="done",
)
"""A lab like assignment 4, without torch: two parts that rank 0 compares, and two that all do."""

CODE = """
from utils import compare_tensors
if rank == 0:
    print(f"[Rank {rank}] The weight before the step, and after it.")
    initial_weight, updated_weight = single_step()
    compare_tensors(initial_weight, updated_weight.cpu())
    accumulated = single_step_with_grad_accumulation()
    compare_tensors(updated_weight.cpu(), accumulated.cpu())
weight = data_parallel_single_step()
compare_tensors(updated_weight.cpu(), weight.cpu(), prefix="DataParallel")
for i, own in enumerate(pipeline_parallel_single_step()):
    compare_tensors(deep[i].cpu(), own.cpu(), prefix="Pipeline")
print(f"[Rank {rank}] done")
"""


def compared(rank: int, prefix: str = "", match: bool = True) -> str:
    """A comparison as `compare_tensors` prints it."""
    label = f"[{prefix}]" if prefix else ""
    return f"{label}[Rank {rank}] Tensors match: {match} | Max diff: 2.384186e-07 | Mean diff: 4.130243e-09"


def printed_by(rank: int, world_size: int) -> list[str]:
    """The lines of one rank of a right run of `CODE`."""
    first = [
        "[Rank 0] All ranks are here.",
        "[Rank 0] The weight before the step, and after it.",
        compared(0, match=False),
        compared(0),
    ]
    return [
        f"[Distributed Init] Rank {rank} of {world_size} is on node 0, on the CPU.",
        *(first if rank == 0 else []),
        compared(rank, "DataParallel"),
        compared(rank, "Pipeline"),
        compared(rank, "Pipeline"),
        f"[Rank {rank}] done",
    ]


def log_of(world_size: int = 4) -> str:
    """A run with one rank behind the other."""
    return "".join(f"{line}\n" for rank in range(world_size) for line in printed_by(rank, world_size))


def writes_of(lines: Iterable[str]) -> list[str]:
    """`print` writes its text and its newline one after the other: other ranks' writes come between."""
    return [write for line in lines for write in (line, "\n")]


def interleaved(ranks: Sequence[Sequence[str]], order: Iterable[int]) -> str:
    """The writes of each rank, in its own order, as ``order`` (rank numbers) has them."""
    waiting = [iter(writes) for writes in ranks]
    return "".join(next(waiting[rank]) for rank in order)


def read(*texts: str, code: str | dict[str, str] = CODE, names: Sequence[str] = ()) -> Evidence:
    """The evidence in logs with these texts beside this code."""
    names = names or [f"{number}.log" for number in range(len(texts))]
    logs = [Log(name, text) for name, text in zip(names, texts, strict=True)]
    return read_evidence(logs, {"assignment4.py": code} if isinstance(code, str) else code, LAB)


def claims(evidence: Evidence) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Ranks that match and that do not, by part."""
    return {claim.part: (claim.matching, claim.not_matching) for claim in evidence.claims}


def right(world_size: int) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """The claims of a right run."""
    everybody = tuple(range(world_size))
    return {
        "single_step": ((), (0,)),
        "grad_accumulation": ((0,), ()),
        "data_parallel": (everybody, ()),
        "pipeline": (everybody, ()),
    }
