"""Renders a cluster's job script from ``templates/sbatch``: a pure function of profile and settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.clusters.profile import Profile, Settings
from grader.clusters.whitelists import one_line, one_word
from grader.shipped import shipped

TEMPLATES = "templates/sbatch"


def render(cluster: str, profile: Profile, settings: Settings) -> str:
    """The script's text. ``settings`` come from `grader.clusters.choose.choose_settings`."""
    template = _environment().get_template("run.sbatch.j2" if profile.launch == "srun" else "local.sh.j2")
    return template.render(
        cluster=cluster,
        title=profile.title,
        login_shell=bool(settings.modules or "--export=NONE" in profile.directives),
        directives=tuple(_directives(profile, settings)),
        profile=profile,
        settings=settings,
        environment=dict(sorted(profile.environment.items())),
        container=_with_image(profile.container, settings.image),
        srun=(*profile.srun, *_with_image(profile.container_srun, settings.image)),
        logs=f"{_log_folder(settings)}{settings.job_name}",
        ranks_without_gpu=settings.ranks_per_node or settings.gpus_per_node or 1,
    )


def _directives(profile: Profile, settings: Settings) -> Iterator[str]:
    yield f"--job-name={settings.job_name}"
    for option in ("account", "partition", "qos", "constraint", "reservation"):
        if value := getattr(settings, option):
            yield f"--{option}={value}"
    yield f"--nodes={settings.nodes}"
    yield "--ntasks-per-node=1"
    yield f"--cpus-per-task={settings.cpus_per_task}"
    yield from _gpu_directives(profile, settings)
    if settings.mem:
        yield f"--mem={settings.mem}"
    yield f"--time={settings.time}"
    yield from profile.directives
    if settings.workdir:
        yield f"--chdir={settings.workdir}"
    yield f"--output={_log_folder(settings)}%x_%j.log"
    yield f"--error={_log_folder(settings)}%x_%j.err"


def _log_folder(settings: Settings) -> str:
    return f"{settings.log_dir.rstrip('/')}/" if settings.log_dir else ""


def _gpu_directives(profile: Profile, settings: Settings) -> Iterator[str]:
    """The shapes in which sites take it; where a job needs no GPU, nothing is asked."""
    ask, count = profile.gpus.ask, settings.gpus_per_node
    typed = f"{settings.gpu_type}:" if settings.gpu_type else ""
    if not count or ask == "none":
        return
    if ask == "gpus":
        yield f"--gpus={typed}{count * settings.nodes}"
        return
    if ask in ("gres", "gres and gpus-per-node"):
        yield f"--gres=gpu:{typed}{count}"
    if ask in ("gpus-per-node", "gres and gpus-per-node"):
        yield f"--gpus-per-node={typed}{count}"
    if ask == "gpus-per-task":
        yield f"--gpus-per-task={typed}{count}"


def _with_image(words: tuple[str, ...], image: str) -> tuple[str, ...]:
    return tuple(word.replace("{image}", image) for word in words) if image else ()


@cache
def _environment() -> Environment:
    """Whatever a template prints is one line; ``q`` quotes for the shell, ``word`` refuses what sbatch would
    split."""
    environment = Environment(
        loader=FileSystemLoader(shipped(TEMPLATES)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=one_line,
    )
    environment.filters["q"] = shlex.quote
    environment.filters["word"] = one_word
    return environment
