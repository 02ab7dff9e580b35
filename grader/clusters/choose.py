"""What one rendering is made with: the profile's settings, then ``--set``; and whether the site allows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from grader.clusters.profile import Profile, Settings
from grader.rubric_errors import problems_in


class SettingsError(Exception):
    """Settings that cannot be rendered. The message is sentences, one a line."""


def choose_settings(profile: Profile, given: Sequence[str], here: Path) -> Settings:
    """The profile's settings with each KEY=VALUE of ``given`` in place. Raises `SettingsError`.

    A relative ``workdir`` or ``log_dir`` is taken from the folder ``here``: sbatch may be called elsewhere.
    """
    chosen = profile.settings.model_dump()
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"--set takes KEY=VALUE, such as --set nodes=2, and got {text!r}.")
        chosen[key] = _absolute(value, here) if key in ("workdir", "log_dir") else value
    try:
        settings = Settings.model_validate(chosen)
    except ValidationError as error:
        lines = (f"--set {key}: {words}" for key, words in problems_in(error, Settings, chosen))
        raise SettingsError("\n".join(lines)) from None
    problems = [*_of_the_site(profile, settings), *_too_much(profile, settings)]
    if problems:
        raise SettingsError("\n".join(problems))
    return settings


def _absolute(value: str, here: Path) -> str:
    return str(here.joinpath(value).resolve()) if value and value.isprintable() else value


def _of_the_site(profile: Profile, settings: Settings) -> Iterator[str]:
    for name in profile.required:
        if not getattr(settings, name):
            yield (
                f"{profile.title} takes no job without {name}: add --set {name}=VALUE, for instance "
                f"--set {name}={profile.example[name]}."
            )
    for name in profile.refused:
        if getattr(settings, name):
            yield f"{profile.title} refuses jobs that set {name}: leave --set {name} out."
    suffix = profile.account_suffix
    if suffix and settings.account and not settings.account.endswith(suffix):
        yield (
            f"On {profile.title} accounts for GPUs end on {suffix}: --set account={settings.account}{suffix}."
        )
    if settings.image and not (profile.container or profile.container_srun):
        yield f"The profile of {profile.title} does not say how a container starts: leave --set image out."


def _too_much(profile: Profile, settings: Settings) -> Iterator[str]:
    limits, in_a_node = profile.limits, profile.gpus.in_a_node
    if limits.nodes and settings.nodes > limits.nodes:
        yield f"{profile.title} gives a job {limits.nodes} nodes at most, and nodes is {settings.nodes}."
    if in_a_node and settings.gpus_per_node > in_a_node:
        yield (
            f"A node of {profile.title} has {in_a_node} GPUs, and gpus_per_node is {settings.gpus_per_node}."
        )
    if limits.hours and hours(settings.time) > limits.hours:
        yield f"{profile.title} gives a job {limits.hours} hours at most, and time is {settings.time}."


def hours(time: str) -> float:
    """A time as sbatch reads it (``D-HH[:MM[:SS]]`` or ``HH:MM:SS``), in hours."""
    days, dash, rest = time.rpartition("-")
    parts = [int(number) for number in re.split(":", rest)]
    clock = sum((number / (1, 60, 3600)[place] for place, number in enumerate(parts)), 0.0)
    return 24 * int(days) + clock if dash else clock
