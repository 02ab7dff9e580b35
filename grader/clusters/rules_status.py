"""What is wrong with a script's status, and with variables that do not arrive."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from grader.clusters.findings import Finding
from grader.clusters.job_script import JobScript
from grader.clusters.shell import Command, is_assignment

_READ_BY_RANKS = re.compile(
    r"((NCCL|FI|GLOO|TORCH|OMP|CUDA|UCX|MIOPEN|HSA|ROCR)_[A-Z0-9_]+|MASTER_(ADDR|PORT))$"
)

_NAMES = """
ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX ARRAY_TASK_MIN ARRAY_TASK_STEP
CLUSTER_NAME CONF CPUS_ON_NODE CPUS_PER_GPU CPUS_PER_TASK DISTRIBUTION EXPORT_ENV GPUS GPUS_ON_NODE
GPUS_PER_NODE GPUS_PER_TASK GTIDS HET_SIZE JOBID JOB_ACCOUNT JOB_CPUS_PER_NODE JOB_DEPENDENCY
JOB_END_TIME JOB_GID JOB_GPUS JOB_ID JOB_NAME JOB_NODELIST JOB_NUM_NODES JOB_PARTITION JOB_QOS
JOB_START_TIME JOB_UID JOB_USER LAUNCH_NODE_IPADDR LOCALID MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE
NNODES NODEID NODELIST NODENAME NODE_ALIASES NPROCS NTASKS NTASKS_PER_CORE NTASKS_PER_GPU
NTASKS_PER_NODE NTASKS_PER_SOCKET PRIO_PROCESS PROCID PROFILE RESTART_COUNT SRUN_COMM_HOST STEPID
STEP_GPUS STEP_ID STEP_NODELIST STEP_NUM_NODES STEP_NUM_TASKS STEP_TASKS_PER_NODE SUBMIT_DIR
SUBMIT_HOST TASKS_PER_NODE TASK_PID THREADS_PER_CORE TOPOLOGY_ADDR TRES_PER_TASK UMASK CPU_BIND
CPU_BIND_LIST CPU_BIND_TYPE CPU_BIND_VERBOSE
"""
_FUNCTION = re.compile(r"\s*(?:function\s+)?([A-Za-z_]\w*)\s*(?:\(\)|\{)", re.ASCII)
KNOWN = frozenset(f"SLURM_{name}" for name in _NAMES.split())
"""Variables that Slurm sets or reads."""


def lost_in_a_pipe(script: JobScript) -> Iterator[Finding]:
    """A pipe's status is that of its last command."""
    pipefail = _set_options(script, "pipefail")
    for command in _work(script):
        if command.after in ("|", "|&") and not any(line < command.line for line in pipefail):
            yield Finding(
                "pipe",
                command.line,
                "What starts the ranks ends in a pipe, and pipefail is not set.",
                "The status is then that of the pipe's last command: a failed job is shown as COMPLETED.",
                "Put set -eo pipefail above it.",
            )


def lost_behind(script: JobScript) -> Iterator[Finding]:
    """A job's status is that of the script's last command."""
    work = list(_work(script))
    if not work:
        return
    last = work[-1]
    outer = [command for command in script.commands if not command.inner]
    behind = _run_behind(script, outer[outer.index(last) + 1 :])
    while last.after in ("|", "|&") and behind:  # the rest of the pipe
        last = behind.pop(0)
    if any(line < work[-1].line for line in _set_options(script, "e")) and last.after not in ("&", "||"):
        return
    if last.after == "&":
        yield _lost(
            work[-1], "What starts the ranks runs in the background (&).", "wait without a process returns 0"
        )
    elif last.after == "||" or (behind and not _hands_on(behind)):
        what = f"{behind[0].name or 'A command'} in line {behind[0].line}" if behind else "A command"
        yield _lost(
            work[-1],
            f"{what} comes behind what starts the ranks.",
            "the job has the status of its last command",
        )


def _run_behind(script: JobScript, commands: list[Command]) -> list[Command]:
    """Those that run once the ranks are done: not another branch, the end of a block, or the call of a
    function that the ranks are started in."""
    functions = {found[1] for line in script.lines if (found := _FUNCTION.match(line))}
    kept: list[Command] = []
    other_branch = False
    for command in commands:
        first = command.words[0].text
        other_branch = (other_branch or first in ("else", "elif", ";;")) and first not in ("fi", "esac")
        if not other_branch and first not in ("fi", "done", "esac", "}") and command.name not in functions:
            kept.append(command)
    return kept


def _lost(work: Command, seen: str, why: str) -> Finding:
    return Finding(
        "status-lost",
        work.line,
        seen,
        f"A failed job is shown as COMPLETED, since {why}.",
        "Put set -e above it and let it be the last command, in the foreground.",
    )


def _hands_on(behind: list[Command]) -> bool:
    """Whether the status is kept: ``status=$?``, and at the end ``exit "$status"``."""
    first = " ".join(word.text for word in behind[0].words)
    return "$?" in first and any(one.name in ("exit", "return") for one in behind)


def _work(script: JobScript) -> Iterator[Command]:
    """The commands that start ranks, outside of ``$(…)``."""
    lines = {launch.line for launch in script.launches}
    for command in script.commands:
        starts = command.name == "srun" or (command.line in lines and command.called)
        if starts and not command.inner and command.name not in ("echo", "printf", "export"):
            yield command


def _set_options(script: JobScript, wanted: str) -> list[int]:
    """The lines that set an option of the shell."""
    found = []
    for command in script.commands:
        words = [word.text for word in command.called]
        short = any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in words[1:])
        if command.name == "set" and (
            wanted in words[1:] or (wanted == "e" and (short or "errexit" in words))
        ):
            found.append(command.line)
    first = script.lines[0]
    if first.startswith("#!") and re.search(rf"\s-[a-z]*{'e' if wanted == 'e' else 'o pipefail'}", first):
        found.append(0)
    return found


def not_exported(script: JobScript) -> Iterator[Finding]:
    """A variable of the script is no environment of its commands."""
    exported = {
        word.text.partition("=")[0]
        for command in script.all_commands
        if command.name in ("export", "declare", "typeset")
        for word in command.words
    }
    everything = any(word.text in ("-a", "allexport") for one in script.commands if one.name == "set"
                     for word in one.words)  # fmt: skip
    used = {name for command in script.commands for word in command.words for name in word.expanded}
    for command in script.commands:
        if command.called or everything:
            continue
        for word in command.words:
            name = word.text.partition("=")[0]
            if is_assignment(word.text) and _READ_BY_RANKS.match(name) and name not in exported | used:
                yield Finding(
                    "not-exported",
                    word.line,
                    f"{name} is set and not exported.",
                    "The ranks never see it: it stays a variable of the job script.",
                    f"Write export {name}=….",
                )


def misspelt(script: JobScript) -> Iterator[Finding]:
    """A variable that Slurm does not set is empty."""
    own = {*script.assigned}
    for command in script.all_commands:
        for word in command.words:
            for name in word.expanded:
                if not name.startswith("SLURM_") or name in KNOWN or name in own:
                    continue
                near = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8) or _same_words(name)
                if near:
                    yield Finding(
                        "misspelt",
                        word.line,
                        f"${name} is no variable of Slurm's.",
                        "It is empty, so that every task does the same.",
                        f"It is most likely ${near[0]}.",
                    )


def _same_words(name: str) -> list[str]:
    """Known names with the same words in another order: SLURM_TASK_ARRAY_ID."""
    return [known for known in sorted(KNOWN) if sorted(known.split("_")) == sorted(name.split("_"))]


RULES = (lost_in_a_pipe, lost_behind, not_exported, misspelt)
