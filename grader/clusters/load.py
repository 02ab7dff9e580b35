"""Reads profiles: those that the grader brings, and a course's own beside them."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from grader.clusters.profile import Profile
from grader.rubric_errors import problems_in
from grader.shipped import shipped

PROFILES = "slurm/clusters"


class ProfileError(Exception):
    """A profile that cannot be used, or a cluster that nobody knows. The message is sentences, one a line."""


def profile_paths(course: Path | None) -> Mapping[str, Path]:
    """Every cluster's name with its file; in the course folder an instructor can replace or add one."""
    folders = [shipped(PROFILES), *([course / PROFILES] if course else [])]
    found = {path.stem: path for folder in folders for path in folder.glob("*.toml")}
    return {name: found[name] for name in sorted(found)}


def find_profile(cluster: str, course: Path | None) -> Profile:
    """The profile of a cluster, by its name or the path of a ``.toml`` file. Raises `ProfileError`."""
    if cluster.endswith(".toml"):
        return load_profile(Path(cluster))
    paths = profile_paths(course)
    if cluster not in paths:
        near = difflib.get_close_matches(cluster.lower(), paths, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ProfileError(
            f"No cluster is known as {cluster!r}.{hint} grader render --list shows those that are; for "
            "another "
            f"one take generic, or write {PROFILES}/NAME.toml in the course folder."
        )
    return load_profile(paths[cluster])


def load_profile(path: Path) -> Profile:
    """Reads one file. Raises `ProfileError`, which names the file, the key and what is allowed."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{path}: This is no TOML: {error}.") from None
    try:
        profile = Profile.model_validate(data)
    except ValidationError as error:
        lines = (f"{path}: {key}: {text}" for key, text in problems_in(error, Profile, data))
        raise ProfileError("\n".join(lines)) from None
    missing = [name for name in profile.required if name not in profile.example]
    if missing:
        raise ProfileError(f"{path}: example: It must have a value for {missing[0]}, which is required.")
    return profile
