"""Everything odd or hostile that is handed in, made by code: a file name, and what `HANDED_IN` says of it.

``taken`` are the staged files; where it is empty, the hand-in is refused. ``words`` stand in the note, in
the reason why something was ignored, or in the sentence of the refusal.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from tests.corpus import CORPUS, HAND_IN
from tests.intake.archives import special, tar_of, zip_of, zip_with_link

SOURCE = (CORPUS / "correct" / "matmul" / HAND_IN).read_bytes()
USUAL = {HAND_IN: SOURCE}
ONE = (HAND_IN,)


@dataclass(frozen=True)
class HandIn:
    """One thing that is handed in as ``name``."""

    name: str
    data: Callable[[], bytes]
    taken: tuple[str, ...] = ()
    words: str = ""


def _patched_zip(old: bytes, new: bytes, files: dict[str, bytes] | None = None) -> bytes:
    return zip_of(files or USUAL).replace(old, new)


def _encrypted() -> bytes:
    data = bytearray(zip_of(USUAL))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    return bytes(data)


def _zip64() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, archive.open(HAND_IN, "w", force_zip64=True) as member:
        member.write(SOURCE)
    return buffer.getvalue()


def _zip_of_special(kind: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(HAND_IN, SOURCE)
        member = zipfile.ZipInfo("extra.py")
        member.create_system, member.external_attr = 3, (kind | 0o644) << 16
        archive.writestr(member, b"")
    return buffer.getvalue()


def _without_permission() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        member = zipfile.ZipInfo(HAND_IN)
        member.create_system, member.external_attr = 3, stat.S_IFREG << 16
        archive.writestr(member, SOURCE)
    return buffer.getvalue()


def _duplicate() -> bytes:
    with warnings.catch_warnings(action="ignore"):  # zipfile's own, about the name
        return zip_of([(HAND_IN, b"1"), (HAND_IN, SOURCE)])


def _raw_name(name: bytes) -> bytes:
    """A zip with a member whose name is these 4 bytes and .py, without the flag for UTF-8."""
    return zip_of({**USUAL, "zqzq.py": b"pass\n"}).replace(b"zqzq", name)


def _lying_size() -> bytes:
    data = bytearray(zip_of(USUAL))
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 0xFFFF_FFF0)
    return bytes(data)


def _notebook() -> bytes:
    return b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


def _sparse_tar() -> bytes:
    member = tarfile.TarInfo("zeros.py")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
    return tar_of(USUAL, "w", [member])


HANDED_IN: dict[str, HandIn] = {
    # forms
    "zip": HandIn("a.zip", lambda: zip_of(USUAL), ONE),
    "tar.gz": HandIn("a.tar.gz", lambda: tar_of(USUAL, "w:gz"), ONE),
    "tar.xz": HandIn("a.tar.xz", lambda: tar_of(USUAL, "w:xz"), ONE),
    "tar": HandIn("a.tar", lambda: tar_of(USUAL, "w"), ONE),
    "bare file": HandIn(HAND_IN, lambda: SOURCE, ONE),
    "zip with another suffix": HandIn("a.tar.gz", lambda: zip_of(USUAL), ONE),
    "tar.xz with another suffix": HandIn("a.zip", lambda: tar_of(USUAL, "w:xz"), ONE),
    "zip called .py": HandIn(HAND_IN, lambda: zip_of(USUAL), ONE),
    "one folder": HandIn("a.zip", lambda: zip_of({f"hw4/{HAND_IN}": SOURCE}), ONE, "inside the folder hw4/"),
    "nested folders": HandIn("a.zip", lambda: zip_of({f"me/hw 4/final/{HAND_IN}": SOURCE}), ONE, "me/hw 4/final/"),
    "zip64": HandIn("a.zip", _zip64, ONE),
    "no read permission": HandIn("a.zip", _without_permission, ONE),
    # what comes along
    "macOS": HandIn(
        "a.zip", lambda: zip_of({**USUAL, f"__MACOSX/._{HAND_IN}": b"\0", ".DS_Store": b"\0", "._x": b""}),
        ONE, "written by macOS",
    ),
    "Windows": HandIn("a.zip", lambda: zip_of({**USUAL, "Thumbs.db": b"\0"}), ONE, "written by Windows"),
    "caches": HandIn(
        "a.zip", lambda: zip_of({**USUAL, "__pycache__/torch.cpython-311.pyc": b"\0"}), ONE, "Python's cache"
    ),
    "version control": HandIn("a.zip", lambda: zip_of({**USUAL, ".git/config": b""}), ONE, "version control"),
    "environment": HandIn(
        "a.zip", lambda: zip_of({**USUAL, ".venv/lib/torch.py": b""}), ONE, "a virtual environment"
    ),
    "files that hide modules": HandIn(
        "a.zip",
        lambda: zip_of({**USUAL, "torch.py": b"", "sitecustomize.py": b"", "conftest.py": b"", "x.pth": b""}),
        ONE, "would hide the module torch",
    ),
    "shared libraries": HandIn("a.zip", lambda: zip_of({**USUAL, "fast.so": b"\x7fELF"}), ONE, "only Python files"),
    # which one
    "two copies at different depths": HandIn(
        "a.zip", lambda: zip_of({**USUAL, f"old/{HAND_IN}": b""}), ONE, "nearest to the top"
    ),
    "two copies side by side": HandIn(
        "a.zip", lambda: zip_of({f"a/{HAND_IN}": SOURCE, f"b/{HAND_IN}": SOURCE}), words="a/ and in b/"
    ),
    "the same member twice": HandIn("a.zip", _duplicate, words="twice"),
    "names that differ in case": HandIn(
        "a.zip", lambda: zip_of({**USUAL, "Assignment4.py": b""}), ONE, "another spelling"
    ),
    "an underscore": HandIn("a.zip", lambda: zip_of({"assignment_4.py": SOURCE}), ONE, "was taken as"),
    "capitals": HandIn("a.zip", lambda: zip_of({"Assignment4.PY": SOURCE}), ONE, "was taken as"),
    "bare file in capitals": HandIn("Assignment4.PY", lambda: SOURCE, ONE, "was taken as"),
    "a second download": HandIn("a.zip", lambda: zip_of({"assignment4 (1).py": SOURCE}), ONE, "was taken as"),
    "a copy": HandIn("a.zip", lambda: zip_of({"x/Assignment 4 - Copy.py": SOURCE}), ONE, "was taken as"),
    "two downloads": HandIn(
        "a.zip", lambda: zip_of({"assignment4 (1).py": SOURCE, "assignment4 (2).py": SOURCE}),
        words="assignment4 (1).py and assignment4 (2).py",
    ),
    "a notebook": HandIn("assignment4.ipynb", _notebook, words="Export it as a Python script"),
    "a notebook in a zip": HandIn(
        "a.zip", lambda: zip_of({"assignment4.ipynb": _notebook()}), words="Export the notebook"
    ),
    "a zip in a zip": HandIn("a.zip", lambda: zip_of({"a.zip": zip_of(USUAL)}), words="inside the archive"),
    "another assignment": HandIn("a.zip", lambda: zip_of({"assignment3.py": SOURCE}), words="only assignment3.py"),
    "no file": HandIn("a.zip", lambda: zip_of({}), words="holds no files"),
    "only junk": HandIn("a.zip", lambda: zip_of({"__MACOSX/x": b"", ".DS_Store": b""}), words="holds no files"),
    "nothing": HandIn("a.zip", lambda: b"", words="is empty"),
    "a document": HandIn("a.zip", lambda: zip_of({"word/document.xml": b"<w/>"}), words="holds no assignment4.py"),
    "an image": HandIn("a.zip", lambda: b"\x89PNG\r\n\x1a\n" + bytes(64), words="neither an archive"),
    "rar": HandIn("a.rar", lambda: b"Rar!\x1a\x07\x01\x00" + bytes(64), words="a RAR archive"),
    # names
    "UTF-8 names": HandIn("a.zip", lambda: zip_of({**USUAL, "héllo.py": b""}), (HAND_IN, "héllo.py")),
    "CP437 names": HandIn("a.zip", lambda: _raw_name("étéé".encode("cp437")), (HAND_IN, "étéé.py")),
    "GBK folder": HandIn(
        "a.zip", lambda: zip_of({f"xxxx/{HAND_IN}": SOURCE}).replace(b"xxxx", "作业".encode("gbk")), ONE, "folder"
    ),
    "backslashes": HandIn("a.zip", lambda: _patched_zip(b"hw4/a", b"hw4\\a", {f"hw4/{HAND_IN}": SOURCE}), ONE),
    "an absolute name": HandIn("a.zip", lambda: zip_of({**USUAL, "/tmp/x.py": b""}), words="absolute name"),
    "a drive": HandIn("a.zip", lambda: zip_of({**USUAL, "C:\\x.py": b""}), words="absolute name"),
    "a name that climbs": HandIn("a.zip", lambda: zip_of({**USUAL, "a/../../x.py": b""}), words="climbs out"),
    "a tar name that climbs": HandIn("a.tar", lambda: tar_of({**USUAL, "../x.py": b""}, "w"), words="climbs out"),
    "a zero byte in a name": HandIn(
        "a.zip", lambda: _patched_zip(b"xy.py", b"x\0.py", {**USUAL, "xy.py": b""}), words="zero byte"
    ),
    "a name that is too long": HandIn("a.zip", lambda: zip_of({**USUAL, "x" * 300 + ".py": b""}), ONE, "too long"),
    "a path that is too long": HandIn(
        "a.zip", lambda: zip_of({**USUAL, "/".join(["d" * 100] * 20) + "/x.py": b""}), ONE, "too long"
    ),
    "control characters in a name": HandIn(
        "a.zip", lambda: zip_of({**USUAL, "\x1b[2Jx.py": b""}), ONE, "unprintable"
    ),
    "a file that is a folder, too": HandIn(
        "a.zip", lambda: zip_of({**USUAL, f"{HAND_IN}/x.py": b""}), words="a file as well"
    ),
    # what is no file
    "a link in a zip": HandIn("a.zip", lambda: zip_with_link("link.py", "/etc/passwd"), words="a symbolic link"),
    "a device in a zip": HandIn("a.zip", lambda: _zip_of_special(stat.S_IFBLK), words="a device"),
    "a link in a tar": HandIn(
        "a.tar", lambda: tar_of(USUAL, "w", [special("link.py", tarfile.SYMTYPE, "/etc/passwd")]), words="link"
    ),
    "a hard link in a tar": HandIn(
        "a.tar", lambda: tar_of(USUAL, "w", [special("link.py", tarfile.LNKTYPE, "/etc/passwd")]), words="link"
    ),
    "a device in a tar": HandIn(
        "a.tar", lambda: tar_of(USUAL, "w", [special("device.py", tarfile.BLKTYPE)]), words="device"
    ),
    "a pipe in a tar": HandIn(
        "a.tar", lambda: tar_of(USUAL, "w", [special("pipe.py", tarfile.FIFOTYPE)]), words="pipe"
    ),
    "a sparse file in a tar": HandIn("a.tar", _sparse_tar, (HAND_IN, "zeros.py")),
    # damage
    "encrypted": HandIn("a.zip", _encrypted, words="encrypted"),
    "cut off": HandIn("a.zip", lambda: zip_of(USUAL)[:-60], words="cut off"),
    "cut off tar.gz": HandIn("a.tar.gz", lambda: tar_of(USUAL)[:-60], words="cut off"),
    "a wrong checksum": HandIn(
        "a.zip", lambda: zip_of(USUAL, zipfile.ZIP_STORED).replace(b"import torch", b"import trash"), words="damaged"
    ),
    "gzip of no tar": HandIn("a.tar.gz", lambda: gzip.compress(SOURCE), words="not a tar archive"),
    "xz of nothing": HandIn("a.tar.xz", lambda: lzma.compress(b""), words="not a tar archive"),
    # too much
    "a bomb": HandIn("a.zip", lambda: zip_of({**USUAL, "x.py": bytes(60 << 20)}), words="times its own size"),
    "a bomb that lies": HandIn("a.zip", _lying_size, words="unpacks to more than"),
    "too many members": HandIn("a.zip", lambda: zip_of({f"{i}.py": b"" for i in range(6000)}), words="holds more than"),
    "too many files": HandIn(
        "a.zip", lambda: zip_of({**USUAL, **{f"m{i}.py": b"" for i in range(400)}}), words="Python files"
    ),
    "too large a file": HandIn("a.py", lambda: b"#" * (8 << 20), words="KB"),
    # source
    "CRLF": HandIn(HAND_IN, lambda: SOURCE.replace(b"\n", b"\r\n"), ONE),
    "a byte order mark": HandIn(HAND_IN, lambda: b"\xef\xbb\xbf" + SOURCE, ONE),
    "UTF-16": HandIn(HAND_IN, lambda: SOURCE.decode().encode("utf-16"), ONE),
    "Latin-1": HandIn(HAND_IN, lambda: SOURCE + b"# \xe9\n", ONE),
}  # fmt: skip
