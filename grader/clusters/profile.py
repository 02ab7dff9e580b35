"""A cluster's profile, as it stands in ``slurm/clusters/NAME.toml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grader.clusters.whitelists import (
    Account,
    Argument,
    Constraint,
    Directive,
    Folder,
    Interface,
    JobName,
    Line,
    Memory,
    Module,
    Name,
    Needed,
    Partition,
    Suffix,
    Time,
    Variable,
)

GpuAsk = Literal["none", "gres", "gpus-per-node", "gpus-per-task", "gpus", "gres and gpus-per-node"]
"""How a job asks for GPUs. "none": nodes are given out whole; "gpus": a total of the whole job."""


def _list(value: Any) -> Any:
    """TOML has lists, and ``--set modules=gcc,cuda`` one text."""
    if isinstance(value, str):
        return tuple(value.split(",")) if value else ()
    return tuple(value) if isinstance(value, list) else value


def _number(value: Any) -> Any:
    """``--set nodes=2`` gives a text; TOML a number."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


class _Part(BaseModel):
    """Unknown keys are refused, values are taken as written, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Count = Annotated[int, BeforeValidator(_number), Field(ge=0, le=100_000)]
Positive = Annotated[int, BeforeValidator(_number), Field(ge=1, le=100_000)]


class Settings(_Part):
    """What may be set for one rendering (``--set``), and what a profile sets of it.

    Empty texts leave a directive out. ``ranks_per_node`` 0 means one for each GPU that Slurm gives.
    ``cpus_per_task`` is for all ranks of a node. ``log_dir`` "" is the folder that the job runs in, which is
    ``workdir``, or else the one that ``sbatch`` is called in.
    """

    job_name: Annotated[JobName, Needed] = "assignment4"
    account: Account = ""
    partition: Partition = ""
    qos: Name = ""
    constraint: Constraint = ""
    reservation: Name = ""
    nodes: Positive = 4
    gpus_per_node: Count = 1
    gpu_type: Name = ""
    ranks_per_node: Count = 0
    cpus_per_task: Positive = 4
    mem: Memory = ""
    time: Annotated[Time, Needed] = "00:10:00"
    workdir: Folder = ""
    log_dir: Folder = ""
    script: Annotated[Argument, Needed] = "assignment4.py"
    python: Annotated[Argument, Needed] = "python3"
    venv: Argument = ""
    modules: Annotated[tuple[Module, ...], BeforeValidator(_list)] = ()
    image: Argument = ""
    interfaces: Annotated[tuple[Interface, ...], BeforeValidator(_list)] = ()


Setting = Literal[
    "account", "partition", "qos", "constraint", "reservation", "gpu_type", "mem", "venv", "image"
]
"""Those that a site may demand or refuse."""


class Gpus(_Part):
    """``[gpus]``: how a job asks for them, and how many a node has (0: not known)."""

    ask: GpuAsk = "gres"
    in_a_node: Count = 0


class Limits(_Part):
    """``[limits]``: nodes of a job, its hours, jobs of one user that may wait or run; 0 where not known."""

    nodes: Count = 0
    hours: Count = 0
    jobs: Count = 0


class Profile(_Part):
    """All of a cluster.

    ``directives`` are further options of sbatch, ``setup`` lines of shell that run before the launch,
    ``srun`` its further options. ``container`` are words before the command, ``container_srun`` options of
    srun: used only where an image is set; ``{image}`` in them is its name. ``example`` has a value for each
    of ``required``. ``host_suffix`` is added to the first host's name to get the address that ranks meet at.
    """

    title: Annotated[Line, Needed]
    launch: Literal["srun", "here"] = "srun"
    required: Annotated[tuple[Setting, ...], BeforeValidator(_list)] = ()
    refused: Annotated[tuple[Setting, ...], BeforeValidator(_list)] = ()
    account_suffix: Suffix = ""
    host_suffix: Suffix = ""
    directives: Annotated[tuple[Directive, ...], BeforeValidator(_list)] = ()
    setup: Annotated[tuple[Line, ...], BeforeValidator(_list)] = ()
    srun: Annotated[tuple[Line, ...], BeforeValidator(_list)] = ()
    container: Annotated[tuple[Line, ...], BeforeValidator(_list)] = ()
    container_srun: Annotated[tuple[Line, ...], BeforeValidator(_list)] = ()
    settings: Settings = Settings()
    example: dict[Setting, Line] = {}
    gpus: Gpus = Gpus()
    limits: Limits = Limits()
    environment: dict[Variable, Line] = {}
