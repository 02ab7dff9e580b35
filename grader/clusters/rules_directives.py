"""What is wrong with ``#SBATCH`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.clusters.findings import Finding
from grader.clusters.job_script import JobScript, first_command_line

DEFAULT_MAX_ARRAY_SIZE = 1001
"""Slurm's own default of MaxArraySize; the highest index is one less."""


def line_ends(script: JobScript) -> Iterator[Finding]:
    """The command sbatch refuses a file with the line ends of Windows."""
    if script.crlf:
        yield Finding(
            "crlf",
            1,
            "The lines end as on Windows (CR LF).",
            'sbatch refuses the script: "Batch script contains DOS line breaks".',
            "Convert it: sed -i 's/\\r$//' FILE.",
        )


def first_line(script: JobScript) -> Iterator[Finding]:
    """The command sbatch takes only what begins with the name of an interpreter."""
    if not script.lines[0].startswith("#!"):
        yield Finding(
            "first-line",
            1,
            "The first line does not begin with #!.",
            'sbatch refuses it: "This does not look like a batch script".',
            "Begin with #!/bin/bash.",
        )


def not_read(script: JobScript) -> Iterator[Finding]:
    """Lines that look like directives and are comments, and directives that come too late."""
    start = first_command_line(script.lines)
    for number, line in enumerate(script.lines, 1):
        if number > start and re.match(r"\s*#\s?SBATCH\s", line):
            yield Finding(
                "late-directive",
                number,
                f"{_shown(line)} stands behind the first command (line {start}).",
                "sbatch stops reading directives there and ignores this one without a word.",
                "Move it up, above every command.",
            )
        elif (
            number < start
            and not re.match(r"#SBATCH\s", line)
            and re.match(r"\s*#(#+|\s+|\s*#\s*)SBATCH\s|\s+#SBATCH\s|#SBATCH-|(?i:#SBATCH\s)", line)
        ):
            yield Finding(
                "not-a-directive",
                number,
                f"{_shown(line)} is a comment for sbatch.",
                "Only a line that begins with exactly #SBATCH and a space counts.",
                "Write it so; if it is off on purpose, take the line out.",
            )


def nothing_expanded(script: JobScript) -> Iterator[Finding]:
    """Nothing is expanded: sbatch is no shell."""
    for one in script.directives:
        wrong = [value for value in one.options.values() if re.search(r"[$`]", value)]
        wrong += [word for word in one.stray if re.search(r"[$`]", word)]
        for value in wrong:
            yield Finding(
                "variable-in-directive",
                one.line,
                f"This #SBATCH line has {value} in it.",
                "sbatch expands nothing there: the text is taken as it is, for a wrong number or an odd "
                "file's name.",
                "Write the value itself, or give the option on sbatch's command line; in file names %j is "
                "the job "
                "and %x its name.",
            )


def stray_words(script: JobScript) -> Iterator[Finding]:
    """A space begins another option."""
    for one in script.directives:
        for word in one.stray:
            if not re.search(r"[$`]", word):
                yield Finding(
                    "stray-word",
                    one.line,
                    f"{word!r} in this #SBATCH line is no option.",
                    f'sbatch refuses the script: "Invalid directive found in batch script: {word}".',
                    "Put a value with spaces into quotes, or write it without spaces.",
                )


def log_files(script: JobScript) -> Iterator[Finding]:
    """Slurm makes no folder."""
    for name in ("output", "error"):
        value, line = script.options.get(name, ""), script.option_line(name)
        folder = value.rpartition("/")[0]
        if not folder or "$" in value:
            continue
        late = " The mkdir in the script comes too late." if _makes_folder(script) else ""
        if not value.startswith("/"):
            from_chdir = " (or that of --chdir)" if "chdir" in script.options else ""
            yield Finding(
                "log-folder",
                line,
                f"--{name}={value} is in a folder that is looked for in the one where sbatch is "
                f"called{from_chdir}.",
                f"Where it is not there the job fails at once and leaves no log (exit code 0:53).{late}",
                "Give an absolute path and make the folder before sbatch, or leave the folder out.",
            )
        elif "%" not in folder and not Path(folder).is_dir():
            yield Finding(
                "log-folder",
                line,
                f"There is no folder {folder} here, where --{name} wants its file.",
                f"Slurm does not make it: the job fails at once and leaves no log (exit code 0:53).{late}",
                f"Before sbatch: mkdir -p {folder}.",
            )


def _makes_folder(script: JobScript) -> bool:
    return any(command.name == "mkdir" for command in script.commands)


def job_name(script: JobScript) -> Iterator[Finding]:
    """``%x`` is a part of a path."""
    name = script.options.get("job-name", "")
    used = any("%x" in script.options.get(one, "") for one in ("output", "error"))
    if "/" in name and used:
        yield Finding(
            "name-with-slash",
            script.option_line("job-name"),
            f"The job is called {name}, and %x names its log.",
            "The slash makes it a path to a folder that is not there, and the job fails without a log.",
            "Choose a name without /.",
        )


def arrays(script: JobScript) -> Iterator[Finding]:
    """The limit is for the highest index, not for how many there are."""
    value = script.options.get("array", "")
    indices = [int(number) for number in re.findall(r"\d+", value.partition("%")[0])]
    if indices and max(indices) >= DEFAULT_MAX_ARRAY_SIZE:
        yield Finding(
            "array-index",
            script.option_line("array"),
            f"--array={value} has the index {max(indices)}.",
            'Most clusters allow none above 1000, however few there are: "Invalid job array specification".',
            "See scontrol show config | grep MaxArraySize; submit several arrays, and add an offset in the "
            "script.",
        )
    for name in ("output", "error"):
        if not value and re.search(r"%[aA]", script.options.get(name, "")):
            yield Finding(
                "array-pattern",
                script.option_line(name),
                f"--{name} has %a or %A, and this is no array.",
                "The index is then 4294967294.",
                "Use %j, the number of the job.",
            )


def dependencies(script: JobScript) -> Iterator[Finding]:
    """What waits for a success waits for ever after a failure."""
    value = script.options.get("dependency", "")
    if "afterok" in value and script.options.get("kill-on-invalid-dep") != "yes":
        yield Finding(
            "waits-for-ever",
            script.option_line("dependency"),
            f"--dependency={value} waits for a success.",
            "After a failure the job stays PENDING (DependencyNeverSatisfied) for ever.",
            "Add --kill-on-invalid-dep=yes, or use afterany and look at the result.",
        )


def exported_environment(script: JobScript) -> Iterator[Finding]:
    """The steps of srun inherit sbatch's mode."""
    value = script.options.get("export", "")
    cured = "SLURM_EXPORT_ENV" in script.assigned or any(
        word.text.startswith("--export=ALL") or word.text == "SLURM_EXPORT_ENV"
        for command in script.commands
        for word in command.words
    )
    calls = any(command.name == "srun" for command in script.commands)
    if value.upper() in ("NONE", "NIL") and calls and not cured:
        yield Finding(
            "export-none",
            script.option_line("export"),
            f"--export={value} holds for srun, too.",
            'Its tasks then have no PATH: "execve(): bash: No such file or directory".',
            "Before srun: export SLURM_EXPORT_ENV=ALL.",
        )


def _shown(line: str) -> str:
    text = line.strip()
    return text if len(text) <= 60 else text[:59] + "…"


RULES = (
    line_ends, first_line, not_read, nothing_expanded, stray_words, log_files, job_name, arrays, dependencies,
    exported_environment,
)  # fmt: skip
