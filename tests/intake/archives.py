"""Archives for the tests, made in memory."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Mapping

SOURCE = b"print('a submission')\n"


def zip_of(
    files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], packing: int = zipfile.ZIP_DEFLATED
) -> bytes:
    pairs = files.items() if isinstance(files, Mapping) else files
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in pairs:
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=packing)
    return buffer.getvalue()


def zip_with_link(name: str, target: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("assignment4.py", SOURCE)
        link = zipfile.ZipInfo(name)
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, target)
    return buffer.getvalue()


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz", extra: Iterable[tarfile.TarInfo] = ()) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)
    return buffer.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member
