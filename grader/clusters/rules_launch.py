"""What is wrong with how torchrun is started on several nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.clusters.findings import Finding
from grader.clusters.job_script import JobScript, Launch, option

_EXPANDS = {"bash", "sh", "zsh", "dash", "eval", "awk", "sed", "perl", "trap", "envsubst"}
"""Programs that make something of a ``$`` in their arguments."""


def without_srun(script: JobScript) -> Iterator[Finding]:
    """The batch script runs on the first node only."""
    for launch in script.launches:
        if script.nodes > 1 and not launch.starter:
            yield Finding(
                "no-srun",
                launch.line,
                f"torchrun is started without srun, and the job has {script.nodes} nodes.",
                "A job script runs on the first node only: the others never start, and torchrun waits for "
                "them until "
                "its time is up.",
                "Put srun before it, with one task on each node.",
            )


def tasks_per_node(script: JobScript) -> Iterator[Finding]:
    """One torchrun itself starts a node's ranks."""
    for launch in script.launches[:1]:
        both = {**script.options, **launch.srun}
        per_node, tasks = both.get("ntasks-per-node", ""), both.get("ntasks", "")
        line = script.option_line("ntasks-per-node" if per_node else "ntasks") or launch.line
        if launch.starter and per_node.isdecimal() and int(per_node) != 1:
            yield _tasks(line, f"There are {per_node} tasks on each node, and each of them starts torchrun.")
        elif launch.starter and not per_node and tasks.isdecimal() and int(tasks) != script.nodes:
            yield _tasks(
                line, f"There are {tasks} tasks for {_nodes(script)}, and each of them starts torchrun."
            )


def _tasks(line: int, seen: str) -> Finding:
    return Finding(
        "tasks-per-node",
        line,
        seen,
        "torchrun starts the ranks of its node itself; several on a node take each other's port "
        "(EADDRINUSE) or wait "
        "for places that are taken.",
        "Use --ntasks-per-node=1, and --nproc-per-node for the ranks.",
    )


def _nodes(script: JobScript) -> str:
    return f"{script.nodes} node{'s' if script.nodes > 1 else ''}"


def node_rank(script: JobScript) -> Iterator[Finding]:
    """SLURM_NODEID is the node's own only where the node expands it."""
    for command in script.commands:
        if command.name in ("echo", "printf"):
            continue
        for word in command.words:
            for name in {*word.expanded} & {"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"}:
                yield Finding(
                    "expanded-too-early",
                    word.line,
                    f"${name} is expanded by the job script itself.",
                    "That shell runs on the first node only, where it is 0: every node then takes itself "
                    "for node 0, "
                    "and the job hangs or ends with EADDRINUSE.",
                    "Let the node expand it: srun bash -c '… --node-rank=\"$SLURM_NODEID\" …' with single "
                    "quotes.",
                )


def never_expanded(script: JobScript) -> Iterator[Finding]:
    """A ``$`` that no shell ever sees again."""
    for command in script.commands:
        words = [word.text.rsplit("/", 1)[-1] for word in command.words]
        shells = _EXPANDS & {*words} or ("-c" in words and {"python", "python3"} & {*words})
        if shells or command.name not in ("srun", "torchrun", "python", "python3", "mpirun"):
            continue
        for word in command.called:
            slurm = [name for name in word.left if name.startswith("SLURM_") or name.startswith("MASTER_")]
            for name in slurm[:1]:
                yield Finding(
                    "never-expanded",
                    word.line,
                    f"The program gets the text ${name} itself.",
                    "Quotes or a backslash keep this shell from expanding it, and no other shell comes "
                    "behind.",
                    "Let a shell on the node expand it: srun bash -c '…'.",
                )


def process_rank(script: JobScript) -> Iterator[Finding]:
    """SLURM_PROCID counts tasks, not nodes."""
    per_node = script.options.get("ntasks-per-node", "1")
    for launch in script.launches:
        if "SLURM_PROCID" in option(launch.options, "node-rank") and per_node != "1":
            yield Finding(
                "procid",
                launch.line,
                "The node's rank is $SLURM_PROCID, which counts tasks.",
                f"With {per_node} tasks on a node it is not the number of the node.",
                "Use $SLURM_NODEID.",
            )


def same_node_rank(script: JobScript) -> Iterator[Finding]:
    """A number in the script is the same on every node."""
    for launch in script.launches:
        number = option(launch.options, "node-rank")
        if number.isdigit() and script.nodes > 1 and launch.starter == "srun":
            yield Finding(
                "same-node-rank",
                launch.line,
                f"--node-rank is {number} on every one of the {_nodes(script)}.",
                "All of them then take themselves for the same node, and the job hangs or ends with "
                "EADDRINUSE.",
                "Let each node say its own: srun bash -c '… --node-rank=\"$SLURM_NODEID\" …' with single "
                "quotes.",
            )


def ignored_node_rank(script: JobScript) -> Iterator[Finding]:
    """c10d gives out the ranks by itself."""
    for launch in script.launches:
        backend = option(launch.options, "rdzv-backend")
        if backend.startswith("c10d") and option(launch.options, "node-rank"):
            yield Finding(
                "c10d-node-rank",
                launch.line,
                "--node-rank is given together with --rdzv-backend=c10d.",
                "c10d ignores it and gives out the ranks by itself: rank 0 need not be on the first node.",
                "Leave --rdzv-backend out and give --master-addr and --master-port.",
            )


def counts(script: JobScript) -> Iterator[Finding]:
    """Numbers that are written twice and differ."""
    nodes = script.options.get("nodes", "")
    for launch in script.launches:
        said = option(launch.options, "nnodes")
        if nodes.isdecimal() and said.isdecimal() and nodes != said:
            yield Finding(
                "node-count",
                launch.line,
                f"torchrun waits for {said} nodes (--nnodes), and the job has {nodes}.",
                "It waits for the missing ones until its time is up, or leaves nodes idle.",
                'Use --nnodes="$SLURM_NNODES".',
            )
        yield from _ranks(script, launch)


def _ranks(script: JobScript, launch: Launch) -> Iterator[Finding]:
    gpus, ranks = _gpus_per_node(script), option(launch.options, "nproc-per-node")
    if gpus and ranks.isdecimal() and int(ranks) != gpus:
        yield Finding(
            "rank-count",
            launch.line,
            f"Each node starts {ranks} ranks and has {gpus} GPU{'s' if gpus > 1 else ''}.",
            "Ranks that share a GPU cannot talk over NCCL, and a GPU without a rank is idle.",
            'Use --nproc-per-node="$SLURM_GPUS_ON_NODE".',
        )
    world = script.assigned.get("WORLD_SIZE", "")
    each = int(ranks) if ranks.isdecimal() else gpus
    nodes = script.options.get("nodes", "1")
    if world.isdecimal() and each and nodes.isdecimal() and int(world) != int(nodes) * each:
        yield Finding(
            "world-size",
            _line_of(script, "WORLD_SIZE"),
            f"WORLD_SIZE is {world}, and {nodes} nodes with {each} ranks make {int(nodes) * each}.",
            "torchrun sets it for its ranks; whatever else reads it gets a wrong number.",
            "Take the line out.",
        )


def _gpus_per_node(script: JobScript) -> int:
    """As the directives ask; 0 where they do not say it for a node."""
    for name in ("gpus-per-node", "gres"):
        found = re.fullmatch(r"(?:gres/)?(?:gpu:)?(?:[\w.-]+:)?(\d+)", script.options.get(name, ""))
        if found:
            return int(found[1])
    return 0


def gpu_count_variable(script: JobScript) -> Iterator[Finding]:
    """SLURM_GPUS_PER_NODE repeats what was asked."""
    for command in script.all_commands:
        for word in command.words:
            if "SLURM_GPUS_PER_NODE" in word.expanded:
                yield Finding(
                    "gpus-per-node-variable",
                    word.line,
                    "$SLURM_GPUS_PER_NODE is used for the number of GPUs.",
                    "It repeats what was asked: it is not set with --gres, and may be a100:4, which "
                    "torchrun refuses.",
                    "Use $SLURM_GPUS_ON_NODE, which is a number.",
                )


def gpu_binding(script: JobScript) -> Iterator[Finding]:
    """Every rank of a node must see all of its GPUs."""
    for launch in script.launches:
        bind = launch.srun.get("gpu-bind") or script.options.get("gpu-bind", "")
        if bind and bind != "none":
            yield Finding(
                "gpu-binding",
                launch.line if "gpu-bind" in launch.srun else script.option_line("gpu-bind"),
                f"--gpu-bind={bind} gives a task only some of the node's GPUs.",
                "torchrun's ranks are all in one task: some have no GPU, and NCCL cannot reach a "
                "neighbour's.",
                "Leave --gpu-bind out.",
            )


def cpus_for_srun(script: JobScript) -> Iterator[Finding]:
    """Slurm 22.05 and 23.02 do not hand it on."""
    asked = script.options.get("cpus-per-task", "")
    handed = "SRUN_CPUS_PER_TASK" in script.assigned
    for launch in script.launches:
        if (
            launch.starter == "srun"
            and asked not in ("", "1")
            and not (handed or "cpus-per-task" in launch.srun)
        ):
            yield Finding(
                "srun-cpus",
                launch.line,
                f"The job asks for {asked} CPUs a task, and srun is not told.",
                "Under Slurm 22.05 and 23.02 srun does not take it from the job: all ranks of a node share "
                "one core.",
                'Add --cpus-per-task="$SLURM_CPUS_PER_TASK" to srun.',
            )


def kill_on_bad_exit(script: JobScript) -> Iterator[Finding]:
    """One node fails, and the others wait for it."""
    for launch in script.launches:
        if launch.starter == "srun" and script.nodes > 1 and "kill-on-bad-exit" not in launch.srun:
            yield Finding(
                "kill-on-bad-exit",
                launch.line,
                "srun has no --kill-on-bad-exit.",
                "When one node fails, the others go on and wait for it.",
                "Add --kill-on-bad-exit=1 to srun.",
            )


def _line_of(script: JobScript, name: str) -> int:
    lines = (word.line for one in script.commands for word in one.words if word.text.startswith(f"{name}="))
    return next(lines, 0)


RULES = (
    without_srun, tasks_per_node, node_rank, same_node_rank, never_expanded, process_rank,
    ignored_node_rank, counts, gpu_count_variable, gpu_binding, cpus_for_srun, kill_on_bad_exit,
)  # fmt: skip
