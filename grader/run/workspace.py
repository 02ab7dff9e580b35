"""The folder in which the ranks of one job leave what they have, and how the warden reads it afterwards."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ARTIFACT = re.compile(r"case[0-9]{1,3}-rank[0-9]{1,4}\.(json|safetensors|operations)")


@dataclass(frozen=True)
class Workspace:
    """``root`` holds the job's spec, the ranks' artifacts, and named pipes: one status and one output pipe
    for each rank, and one on which all ranks wait until every one of them has started."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "spec.json"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def launcher_output(self) -> Path:
        return self.root / "launcher"

    @property
    def go(self) -> Path:
        return self.root / "go"

    def share(self, name: str) -> Path:
        return self.root / f"share-{name}"

    def status(self, rank: int) -> Path:
        return self.root / f"status{rank}"

    def output(self, rank: int) -> Path:
        return self.root / f"output{rank}"

    def create(self, spec: dict[str, Any], owner: int) -> None:
        """Lay the folder out for ``spec["world_size"]`` ranks that run as user ``owner``."""
        self.artifacts.mkdir(parents=True)
        self.spec.write_text(json.dumps(spec))
        os.mkfifo(self.launcher_output, 0o600)
        os.mkfifo(self.go, 0o600)
        for rank in range(spec["world_size"]):
            os.mkfifo(self.status(rank), 0o600)
            os.mkfifo(self.output(rank), 0o600)
        if owner != os.geteuid():
            for path in (self.root, *self.root.iterdir()):
                os.chown(path, owner, owner)

    def is_full(self) -> bool:
        """Whether the disk has next to no room left, for bytes or for files. (The launcher removes a few
        of its own as it ends.)"""
        disk = os.statvfs(self.root)
        return disk.f_bavail < disk.f_blocks / 50 or disk.f_favail < disk.f_files / 50

    def load_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = json.loads(self.spec.read_text())
        return spec

    def collect(self, limit: int) -> tuple[dict[str, bytes], str]:
        """Read the artifacts, at most ``limit`` bytes in all, and a sentence about what was left out.

        Only for a job that is dead: regular files of an artifact's name, never through a link, never
        waiting on a pipe.
        """
        files: dict[str, bytes] = {}
        left, remarks = limit, ""
        try:
            names = sorted(name for name in os.listdir(self.artifacts) if _ARTIFACT.fullmatch(name))
        except OSError as error:
            return {}, f"the artifact folder could not be read: {error.strerror}"
        for name in names:
            data = _read_regular(self.artifacts / name, left)
            if data is None:
                remarks = f"{name} is not a regular file of at most {limit >> 20} MiB in all"
                continue
            files[name] = data
            left -= len(data)
        return files, remarks


def _read_regular(path: Path, limit: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)  # before fdopen, which raises for a directory
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
