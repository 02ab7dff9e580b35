"""Whatever the bytes and the names are: staged files below the staging directory, or one IntakeError."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import IntakeError, IntakeLimits, take_in
from tests.intake.archives import SOURCE, tar_of, zip_of

BOUNDS = IntakeLimits(archive_mb=1, total_mb=2, entries=30, files=10, files_kb=64)
PIECE = st.sampled_from(
    [
        "assignment4.py",
        "utils.py",
        "a",
        "b.py",
        "..",
        ".",
        "",
        "/",
        "C:",
        "\\",
        ".git",
        "__MACOSX",
        "torch.py",
        "é",
    ]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAME = st.lists(PIECE, min_size=1, max_size=4).map("/".join)
FILES = st.dictionaries(NAME, st.binary(max_size=40), max_size=6)
FORM = st.sampled_from([zip_of, tar_of, lambda f: tar_of(f, "w"), lambda f: tar_of(f, "w:xz")])


def survives(data: bytes, name: str = "alice.zip") -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / name).write_bytes(data)
        with contextlib.suppress(IntakeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            submission = take_in(root / name, root / "staging", ("assignment4.py",), BOUNDS)
            assert "assignment4.py" in submission.files
            staged = {
                p.relative_to(root / "staging").as_posix() for p in root.rglob("staging/**/*") if p.is_file()
            }
            assert staged == set(submission.files)
            assert all(file.endswith(".py") for file in staged)
            assert all(text.isprintable() for pair in submission.ignored for text in pair)
        assert {path.name for path in root.iterdir()} <= {name, "staging"}


@pytest.mark.fuzz
@given(files=FILES, form=FORM)
def test_any_names_in_an_archive_stay_inside_the_staging_directory(files, form):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = form({"assignment4.py": SOURCE, **files})
        except (ValueError, UnicodeError):  # a name that the writer itself refuses
            return
    survives(data)


@pytest.mark.fuzz
@given(
    form=FORM,
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8),
    cut=st.floats(0, 1),
)
def test_any_damage_to_an_archive_ends_in_files_or_in_one_error(form, changes, cut):
    data = bytearray(
        form({"work/assignment4.py": SOURCE, "work/utils.py": b"x = 1", "work/run.log": b"ok" * 99})
    )
    for position, value in changes:
        data[position % len(data)] = value
    survives(bytes(data[: len(data) - int(cut * cut * len(data))]))


@pytest.mark.fuzz
@given(
    data=st.binary(max_size=2000),
    head=st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"BZh9"]),
)
def test_any_bytes_end_in_files_or_in_one_error(data, head):
    survives(head + data)
    survives(head + data, "assignment4.py")
