"""What a foreign cluster looks like to somebody who submits a job: the part of a site that can refuse it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Nodes:
    """Nodes of one kind, ``<prefix>1`` to ``<prefix><count>``. --constraint asks for ``features``."""

    prefix: str
    count: int
    cpus: int
    memory_mb: int = 500_000
    gpus: int = 0
    gpu_type: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Partition:
    """A partition: the kinds of nodes in it by their prefixes, and its limits."""

    name: str
    prefixes: tuple[str, ...]
    default: bool = False
    max_nodes: int | None = None
    max_minutes: int | None = None
    whole_nodes: bool = False


@dataclass(frozen=True)
class Shape:
    """A site. Options are named as sbatch names them: ``--account``, ``--mem``, ``--gpus-per-node``.

    Slurm knows accounts and qos from its data base alone, which there is none of: they are compared by the
    site's submit script. That cannot tell ``--gres=gpu:2`` from ``--gpus-per-node=2``: both are the latter.
    """

    nodes: tuple[Nodes, ...]
    partitions: tuple[Partition, ...]
    accounts: tuple[str, ...] = ()  # none: any will do
    qos: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
