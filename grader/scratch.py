"""Temporary folders that do not stay behind, not even when the process that made one is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "grader-"
_LOCK = ".in-use"
_YOUNG = 60.0  # seconds in which a folder may still be without the lock that its maker is about to take


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed after the block; one whose process was killed, at the next call by the same
    user. The lock on a file in it says that it is in use: the kernel lets go of it with the process."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        descriptor = os.open(Path(folder, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            made = folder.lstat()
            if made.st_uid != os.geteuid() or time.time() - made.st_mtime < _YOUNG:
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # none of ours, or gone in the meantime
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)
