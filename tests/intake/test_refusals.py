"""What is refused, with a sentence that names what was seen, and nothing staged."""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile

import pytest

from grader.intake import IntakeError, IntakeLimits
from tests.intake.archives import SOURCE, special, tar_of, zip_of, zip_with_link

OUTSIDE = ["../evil.py", "/abs.py", "a/../../b.py", "..\\evil.py", "C:\\evil.py", "\\evil.py"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("form", [zip_of, tar_of])
def test_a_name_that_leads_outside_is_refused_by_name(intake, tmp_path, form, name):
    before = sorted(tmp_path.parent.rglob("*evil*"))
    message = intake.refused("a.zip", form({"assignment4.py": SOURCE, name: b"x"}))
    assert name in message.replace("\\\\", "\\")
    assert "nothing was unpacked" in message
    assert sorted(tmp_path.parent.rglob("*evil*")) == before


def test_a_name_with_a_zero_byte_is_refused(intake):
    data = zip_of({"assignment4.pyX": SOURCE}).replace(b"assignment4.pyX", b"assignment4.py\0")
    assert "zero byte" in intake.refused("a.zip", data)


@pytest.mark.parametrize("name", ["data", "utils.py"])
def test_a_symbolic_link_in_a_zip_is_refused(intake, name):
    assert f"a symbolic link ({name})" in intake.refused("a.zip", zip_with_link(name, "/etc/passwd"))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.FIFOTYPE, "a device"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(intake, kind, words):
    data = tar_of({"assignment4.py": SOURCE}, extra=[special("x.py", kind, "/etc/passwd")])
    assert words in intake.refused("a.tar.gz", data)


def test_a_symbolic_link_in_a_directory_is_refused_and_not_followed(intake, tmp_path):
    folder = tmp_path / "alice"
    folder.mkdir()
    (folder / "assignment4.py").write_bytes(SOURCE)
    (folder / "utils.py").symlink_to("/etc/passwd")
    with pytest.raises(IntakeError, match="a symbolic link"):
        intake.take(folder)


def test_a_pipe_is_refused_without_waiting_for_it(intake, tmp_path):
    os.mkfifo(tmp_path / "assignment4.py")
    with pytest.raises(IntakeError, match="not a regular file"):
        intake.take(tmp_path / "assignment4.py")


def test_a_path_that_is_not_there_is_refused(intake, tmp_path):
    with pytest.raises(IntakeError, match="No such file"):
        intake.take(tmp_path / "missing.zip")


def test_an_encrypted_zip_is_refused(intake):
    data = bytearray(zip_of({"assignment4.py": SOURCE}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "is encrypted (assignment4.py)" in intake.refused("a.zip", bytes(data))


@pytest.mark.parametrize("packing", ["zip", "tar", "gz", "xz", "bz2"])
def test_an_archive_that_was_cut_off_is_refused_wherever_it_was_cut(intake, packing):
    files = {"assignment4.py": SOURCE, "utils.py": os.urandom(17000)}
    data = zip_of(files) if packing == "zip" else tar_of(files, f"w:{packing.removeprefix('tar')}")
    for length in (len(data) // 4, len(data) // 2, 8 * len(data) // 10):
        assert intake.refused("a.zip", data[:length])


def test_a_zip_whose_content_does_not_fit_its_checksum_is_refused(intake):
    data = zip_of({"assignment4.py": SOURCE}, zipfile.ZIP_STORED).replace(b"submission", b"submersion")
    assert "damaged" in intake.refused("a.zip", data)


def test_a_tar_with_a_damaged_header_in_the_middle_is_refused(intake):
    data = bytearray(tar_of({"assignment4.py": SOURCE, "utils.py": b"x"}, "w"))
    data[1024 + 150] ^= 0x7
    assert "damaged" in intake.refused("a.tar", bytes(data))


def test_an_extended_header_that_takes_hours_to_search_is_refused_at_once(intake):
    header = special("x", tarfile.XHDTYPE)
    header.size = 2**20
    block = header.tobuf(tarfile.USTAR_FORMAT)
    message = intake.refused("a.tar.gz", gzip.compress(block + b"1" * header.size + bytes(1024), mtime=0))
    assert "extended headers are too long" in message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_unusual_packing_method_is_refused_because_it_cannot_be_bounded(intake, method):
    assert "unusual method" in intake.refused("a.zip", zip_of({"assignment4.py": SOURCE}, method))


@pytest.mark.parametrize("name", ["a.zip", "assignment4.py"])
def test_an_empty_file_is_refused(intake, name):
    assert "is empty (0 bytes)" in intake.refused(name, b"")


@pytest.mark.parametrize("form", [zip_of, tar_of, lambda files: tar_of(files, "w")])
def test_an_archive_without_files_is_refused(intake, form):
    assert "holds no files" in intake.refused("a.zip", form({}))


def test_without_the_labs_file_the_names_that_were_there_are_told(intake):
    message = intake.refused("a.zip", zip_of({"homework.py": SOURCE, "run.log": b""}))
    assert "holds no assignment4.py, only homework.py, run.log" in message


def test_two_copies_at_the_same_depth_are_refused_with_both_names(intake):
    message = intake.refused("a.zip", zip_of({"new/assignment4.py": SOURCE, "old/assignment4.py": SOURCE}))
    assert "new/" in message and "old/" in message


def test_a_member_that_is_there_twice_is_refused(intake):
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zip_of([("assignment4.py", SOURCE), ("assignment4.py", b"x")])
    assert "twice" in intake.refused("a.zip", data)


def test_a_path_through_a_file_is_refused(intake):
    message = intake.refused("a.zip", zip_of({"assignment4.py": SOURCE, "a.py": b"", "a.py/b.py": b""}))
    assert "inside something that is a file" in message


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.zip", b"print('renamed')\n", "neither an archive nor a .py file"),
        ("a.rar", b"Rar!\x1a\x07\x01\x00", "a RAR archive"),
        ("a.ipynb", b'{"cells": []}', "a notebook"),
        ("a.gz", gzip.compress(SOURCE, mtime=0), "not a tar archive"),
    ],
)
def test_another_kind_of_file_is_refused_by_its_kind(intake, name, data, words):
    assert words in intake.refused(name, data)


def test_a_bomb_is_refused_by_its_ratio(intake):
    zeros = {"assignment4.py": SOURCE, "zeros.bin": bytes(20 * 2**20)}
    for form in (zip_of, tar_of, lambda files: tar_of(files, "w:xz")):
        assert "more than 200 times its own size" in intake.refused("a.zip", form(zeros))


def test_the_limits_on_size_entries_and_files_are_named_when_they_are_broken(intake):
    three = {"assignment4.py": SOURCE, "b.py": bytes(2000), "c.py": b""}
    large = {"assignment4.py": SOURCE, "b.bin": os.urandom(2**20 + 1)}
    for form in (zip_of, tar_of):
        assert "more than 2 files" in intake.refused("a", form(three), IntakeLimits(entries=2))
        assert "At most 2 files" in intake.refused("a", form(three), IntakeLimits(files=2))
        assert "1 KB are taken" in intake.refused("a", form(three), IntakeLimits(files_kb=1))
        assert "more than 1 MB" in intake.refused("a", form(large), IntakeLimits(total_mb=1))
        assert "larger than 1 MB" in intake.refused("a", form(large), IntakeLimits(archive_mb=1))


def test_a_directory_with_too_many_files_is_refused(intake, tmp_path):
    folder = tmp_path / "alice"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.py").touch()
    with pytest.raises(IntakeError, match="more than 3 files"):
        intake.take(folder, IntakeLimits(entries=3))


def test_control_characters_of_a_name_never_reach_the_message_or_the_report(intake):
    submission = intake("a.zip", zip_of({"assignment4.py": SOURCE, "\x1b[31m\n.py": b""}))
    assert submission.files == ("assignment4.py",)
    assert submission.ignored == (("\\x1b[31m\\n.py", "its name has unprintable characters or is too long"),)
