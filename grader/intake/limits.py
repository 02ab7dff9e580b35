"""How much of a submission the intake is willing to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IntakeLimits:
    """Bounds on what was handed in. Megabytes are 2**20 bytes, kilobytes 2**10.

    ``archive_mb``  size of the file handed in
    ``entries``     members of an archive, or files and folders of a directory
    ``total_mb``    size of all members together, unpacked (whether or not they are needed)
    ``ratio``       unpacked size over packed size; looked at only beyond `RATIO_FROM` bytes
    ``files``       Python files that are staged
    ``files_kb``    size of the staged files together
    """

    archive_mb: int = 32
    entries: int = 2000
    total_mb: int = 128
    ratio: int = 200
    files: int = 64
    files_kb: int = 2048

    @property
    def archive_bytes(self) -> int:
        return self.archive_mb * 2**20

    @property
    def total_bytes(self) -> int:
        return self.total_mb * 2**20

    @property
    def files_bytes(self) -> int:
        return self.files_kb * 2**10


RATIO_FROM = 8 * 2**20
"""Below this unpacked size no ratio is suspicious: a log of equal lines packs a hundred times smaller."""
