"""Where files that are no Python lie: beside the package in the repository, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def shipped(folder: str) -> Path:
    """The folder ``templates/sbatch`` or ``slurm/clusters``, as it is named in the repository.

    In a wheel ``setup.py`` put it into ``grader/shipped_files``. Raises FileNotFoundError.
    """
    for place in (_PACKAGE / "shipped_files" / folder, _PACKAGE.parent / folder):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"{folder} is not there: the grader is not installed completely.")
