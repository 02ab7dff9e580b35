"""A job script as the lint sees it: directives, commands, and how it starts torchrun."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from grader.clusters.shell import Command, is_assignment, read_commands

_SHORT = {
    "A": "account", "a": "array", "C": "constraint", "c": "cpus-per-task", "D": "chdir", "d": "dependency",
    "e": "error", "G": "gpus", "J": "job-name", "N": "nodes", "n": "ntasks", "o": "output", "p": "partition",
    "q": "qos", "t": "time", "K": "kill-on-bad-exit",
}  # fmt: skip
_ALONE = {
    "exclusive", "requeue", "no-requeue", "hold", "parsable", "wait", "contiguous", "overcommit",
    "oversubscribe", "quiet", "verbose", "test-only", "spread-job", "reboot", "use-min-nodes", "ignore-pbs",
    "get-user-env", "nice", "no-kill", "propagate", "H", "W", "O", "s", "Q", "v", "k", "vv", "resv-ports",
    "kill-on-bad-exit", "label", "l", "u", "unbuffered", "exact",
}  # fmt: skip
"""Options that do not take the next word for their value."""

_LAUNCHER = re.compile(r"(^|[\s/])(torchrun(_jsc)?|torch\.distributed\.(run|launch))(?=\s|$)")
_STARTERS = ("srun", "mpirun", "mpiexec", "ibrun")
_REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w*)(\[[@*]\])?\}?", re.ASCII)


@dataclass(frozen=True)
class Directive:
    """An ``#SBATCH`` line that counts. ``stray`` are words that are no option and no value of one."""

    line: int
    text: str
    options: Mapping[str, str]
    stray: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """A call of torchrun with its ``options``. ``starter`` is srun or the like ("" where none is there), and
    ``srun`` has the options of that."""

    line: int
    options: Mapping[str, str]
    starter: str
    srun: Mapping[str, str]


@dataclass(frozen=True)
class JobScript:
    """``lines`` without their ends; ``crlf``: some ended with a carriage return."""

    lines: tuple[str, ...]
    crlf: bool
    commands: tuple[Command, ...]
    on_node: tuple[Command, ...]
    """Commands inside the text of a ``bash -c``: another shell expands them, on the node if srun does it."""
    directives: tuple[Directive, ...] = field(default=())

    @cached_property
    def options(self) -> Mapping[str, str]:
        """The value of every option of sbatch; the last directive counts."""
        return {name: value for one in self.directives for name, value in one.options.items()}

    def option_line(self, name: str) -> int:
        """The line of the directive that sets an option, 0 where none does."""
        return max((one.line for one in self.directives if name in one.options), default=0)

    @cached_property
    def all_commands(self) -> tuple[Command, ...]:
        return self.commands + self.on_node

    @cached_property
    def nodes(self) -> int:
        """The most nodes that the directives, or torchrun's own option, speak of; 1 where none does."""
        texts = [self.options.get("nodes", "")]
        texts += [option(one.options, "nnodes") for one in self.launches]
        return max(
            (int(number) for text in texts for number in re.findall(r"^\d+|(?<=[-:])\d+$", text)), default=1
        )

    @cached_property
    def assigned(self) -> Mapping[str, str]:
        """Texts of variables that the script sets, as they stand there."""
        found: dict[str, str] = {}
        for command in self.commands:
            words = command.words
            for place, word in enumerate(words):
                name, equals, value = word.text.partition("=")
                if equals and is_assignment(word.text):
                    array = not value and place + 1 < len(words) and command.name != "export"
                    rest = " ".join(other.text for other in words[place + 1 :]) if array else value
                    found[name.rstrip("+")] = (
                        f"{found.get(name[:-1], '')} {rest}" if name[-1] == "+" else rest
                    )
        return found

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(self._launches())

    def resolved(self, command: Command) -> str:
        """A command's text with the script's own variables replaced by what they were set to."""
        text = " ".join(word.text for word in command.called)
        for _ in range(3):
            text = _REFERENCE.sub(lambda found: self._value(found), text)
        return text

    def _value(self, found: re.Match[str]) -> str:
        value = self.assigned.get(found[1], "")
        return value if _LAUNCHER.search(value) or value.strip().startswith((*_STARTERS, "-")) else found[0]

    def _launches(self) -> Iterator[Launch]:
        for command in self.commands:
            text = self.resolved(command)
            if command.name in ("echo", "printf", "export", "which", "pip", "") or not _LAUNCHER.search(text):
                continue
            found = _LAUNCHER.search(text)
            assert found is not None
            before = _unquoted(text[: found.start()])
            names = [word.rsplit("/", 1)[-1] for word in before]
            starter = next((name for name in names if name in _STARTERS), "")
            behind = before[names.index(starter) + 1 :] if starter == "srun" else []
            yield Launch(
                command.line,
                _launch_options(text[found.end() :]),
                starter,
                _slurm_options(behind, stop=True)[0],
            )


def option(options: Mapping[str, str], name: str) -> str:
    """The value of a torchrun option, which may be written with - or _; "" where it is not there."""
    return options.get(name.replace("_", "-"), "")


def _launch_options(text: str) -> Mapping[str, str]:
    """The options of torchrun, up to the script's name; ``-`` between their words."""
    options: dict[str, str] = {}
    words = _unquoted(text)
    while words and words[0].startswith("-"):
        name, equals, value = words.pop(0).lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not equals and name not in ("standalone", "m", "module", "no-python", "run-path") and words:
            value = words.pop(0)
        options[name] = value or "yes"
    return options


def read_job_script(content: bytes) -> JobScript:
    """Reads any text; what is no script gives few commands."""
    text = content.decode("utf-8", "replace")
    crlf = "\r\n" in text
    text = text.replace("\r\n", "\n")
    lines = tuple(text.split("\n"))
    commands = read_commands(text)
    return JobScript(lines, crlf, commands, tuple(_inside(commands)), tuple(_directives(lines)))


def _inside(commands: tuple[Command, ...]) -> Iterator[Command]:
    for command in commands:
        if any(word.text.rsplit("/", 1)[-1] in ("bash", "sh") for word in command.words):
            for word in command.words:
                if re.search(r"\s", word.text):
                    yield from read_commands(word.text, word.line)


def first_command_line(lines: tuple[str, ...]) -> int:
    """The number of the first line that sbatch takes for a command: what comes behind is no directive."""
    numbers = (
        number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")
    )
    return next(numbers, len(lines) + 1)


def _directives(lines: tuple[str, ...]) -> Iterator[Directive]:
    for number, line in enumerate(lines[: first_command_line(lines) - 1], 1):
        if re.match(r"#SBATCH\s", line):
            yield _directive(number, line)


def _directive(number: int, line: str) -> Directive:
    try:
        words = shlex.split(line[len("#SBATCH") :], comments=True)
    except ValueError:
        words = line[len("#SBATCH") :].split()
    options, stray = _slurm_options(words, stop=False)
    return Directive(number, line, options, stray)


def _slurm_options(words: list[str], stop: bool) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Options of sbatch or srun by their long names, and the words that are none; ``stop`` at the first."""
    options: dict[str, str] = {}
    stray: list[str] = []
    words = list(words)
    while words and not (stop and stray):
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1:
            name, value = _SHORT.get(word[1], word[1:]), word[2:].removeprefix("=")
            equals = value
        else:
            stray.append(word)
            continue
        if not equals and name not in _ALONE and words and not words[0].startswith("-"):
            value = words.pop(0)
        options[name] = value
    return options, tuple(stray)


def _unquoted(text: str) -> list[str]:
    return text.replace("\\\n", " ").replace('"', "").replace("'", "").split()
