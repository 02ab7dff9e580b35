"""Writing the chosen files where the sandbox will see them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

FILE_MODE = 0o644
FOLDER_MODE = 0o755


def stage(staging: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Writes ``files`` (checked relative path, content) below ``staging``, which is made if need be.

    Raises FileExistsError when ``staging`` has anything in it already: submissions never mix.
    """
    staging.mkdir(parents=True, exist_ok=True)
    if any(staging.iterdir()):
        raise FileExistsError(f"{staging} is not empty")
    staging.chmod(FOLDER_MODE)
    for name, content in files:
        target = staging.joinpath(*name.split("/"))
        _make_folders(staging, target.parent)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        with open(descriptor, "wb") as stream:
            os.fchmod(descriptor, FILE_MODE)  # whatever the umask took away
            stream.write(content)


def _make_folders(staging: Path, folder: Path) -> None:
    if folder == staging or folder.exists():
        return
    _make_folders(staging, folder.parent)
    folder.mkdir()
    folder.chmod(FOLDER_MODE)
