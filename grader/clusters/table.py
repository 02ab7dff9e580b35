"""``grader render --list``: a line for each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from grader.clusters.load import load_profile
from grader.clusters.profile import Profile


def cluster_table(paths: Mapping[str, Path]) -> Table:
    """The clusters at ``paths`` with what a job there needs. Raises `grader.clusters.load.ProfileError`."""
    table = Table(box=None, header_style="bold")
    for title in ("Cluster", "Site", "Needs --set", "Nodes×GPUs", "GPUs by --"):
        table.add_column(title)
    for name, path in paths.items():
        table.add_row(*(escape(cell) for cell in _row(name, load_profile(path))))
    return table


def _row(name: str, profile: Profile) -> tuple[str, ...]:
    settings = profile.settings
    needs = [one for one in profile.required if not getattr(settings, one)]
    ask = {"none": "-", "gres and gpus-per-node": "gres and …"}.get(profile.gpus.ask, profile.gpus.ask)
    return name, profile.title, ", ".join(needs) or "-", f"{settings.nodes} × {settings.gpus_per_node}", ask
