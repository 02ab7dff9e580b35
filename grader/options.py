"""What a person asks of a run, and the command that asks the same again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


class UsageError(ValueError):
    """What was asked cannot be done. The message says why and what to do."""


@dataclass(frozen=True)
class Options:
    """How to grade. ``only`` names the exercises to ask (none: all); ``seed`` is the master seed."""

    seed: int
    only: tuple[str, ...] = ()
    device: str = "auto"
    sandbox: str = "bwrap"
    launcher: str = "fork"


def replay_command(path: Path, options: Options) -> str:
    """The command that grades ``path`` in the same way again."""
    words = ["grader", "check", str(path), "--seed", str(options.seed)]
    for name in options.only:
        words += ["--only", name]
    if options.sandbox != "bwrap":
        words += ["--sandbox", options.sandbox]
    if options.launcher != "fork":
        words += ["--launcher", options.launcher]
    return shlex.join(words)
