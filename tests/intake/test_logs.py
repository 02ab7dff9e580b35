"""The logs beside the code: read as text within bounds, never staged, and never a reason to refuse."""

from __future__ import annotations

import os
import random
import zipfile

import pytest

from grader.intake import IntakeLimits
from grader.intake.logs import MOST_LOGS, MOST_OF_ALL, MOST_OF_ONE
from tests.intake.archives import SOURCE, tar_of, zip_of

TEXT = "[Rank 0] Tensors match: True\nä\n"


def texts(submission) -> dict[str, str]:
    return {log.name: log.text for log in submission.logs}


@pytest.mark.parametrize("form", [zip_of, tar_of])
@pytest.mark.parametrize("name", ["run.log", "slurm-12.out", "run.ERR", "run.log.txt", "logs/0/stdout.log"])
def test_a_log_is_read_and_not_staged(intake, form, name):
    submission = intake("a.zip", form({"w/assignment4.py": SOURCE, f"w/{name}": TEXT.encode()}))
    assert texts(submission) == {f"w/{name}": TEXT}
    assert intake.staged() == {"assignment4.py": SOURCE}
    assert submission.ignored == () and submission.logs[0].left_out == 0


def test_logs_of_a_directory_are_read_and_change_its_hash(intake, tmp_path):
    folder = tmp_path / "alice"
    folder.mkdir()
    (folder / "assignment4.py").write_bytes(SOURCE)
    without = intake.take(folder)
    (folder / "run.log").write_text(TEXT, encoding="utf-8")
    one = intake.take(folder)
    (folder / "run.log").write_text(TEXT + "more", encoding="utf-8")
    other = intake.take(folder)
    assert texts(one) == {"run.log": TEXT}
    assert len({without.sha256, one.sha256, other.sha256}) == 3


def test_logs_in_the_folder_of_the_code_come_before_those_around_it(intake):
    files = {"w/assignment4.py": SOURCE, "old/run.log": b"old", "run.log": b"around"}
    assert sorted(texts(intake("a.zip", zip_of(files)))) == ["old/run.log", "run.log"]
    submission = intake("a.zip", zip_of({**files, "w/run.log": b"own"}))
    assert texts(submission) == {"w/run.log": "own"}
    assert dict(submission.ignored)["run.log"] == "outside the folder w/"


def test_junk_and_another_copys_logs_are_not_read(intake):
    names = ["__MACOSX/._run.log", ".git/x.log", "._run.log", "old/run.log"]
    files = {"assignment4.py": SOURCE, "old/assignment4.py": b"", **dict.fromkeys(names, b"x")}
    submission = intake("a.zip", zip_of(files))
    assert submission.logs == ()
    assert dict(submission.ignored)["old/run.log"] == "belongs to another copy of the assignment"


def test_of_very_many_logs_some_are_read_and_plain_texts_last(intake):
    files = {f"{number:03}.log": b"x" for number in range(MOST_LOGS)}
    submission = intake("a.zip", zip_of({"assignment4.py": SOURCE, "000.txt": b"", **files, "999.log": b""}))
    assert sorted(texts(submission)) == sorted(files)
    assert dict(submission.ignored) == {"000.txt": "not needed to run", "999.log": "not needed to run"}


@pytest.mark.parametrize("form", ["zip", "tar", "folder"])
def test_of_fifty_megabytes_the_beginning_and_the_end_are_kept(intake, tmp_path, form):
    noise = random.Random(1).randbytes(2**13).hex().encode()  # packs about eighty times
    data = b"the beginning\n" + 50 * 64 * noise + b"\nthe end\n"
    if form == "folder":
        (tmp_path / "alice").mkdir()
        (tmp_path / "alice" / "assignment4.py").write_bytes(SOURCE)
        (tmp_path / "alice" / "run.log").write_bytes(data)
        submission = intake.take(tmp_path / "alice")
    else:
        submission = intake(
            "a", {"zip": zip_of, "tar": tar_of}[form]({"assignment4.py": SOURCE, "run.log": data})
        )
    (log,) = submission.logs
    assert log.text.startswith("the beginning\n") and log.text.endswith("\nthe end\n")
    assert log.left_out == len(data) - MOST_OF_ONE
    assert f"\n[{log.left_out} bytes were left out here]\n" in log.text


def test_all_logs_together_are_bounded(intake):
    files = {f"{number}.log": os.urandom(2**20) for number in range(MOST_LOGS)}
    submission = intake("a.zip", zip_of({"assignment4.py": SOURCE, **files}))
    assert len(submission.logs) == MOST_LOGS
    kept = sum(2**20 - log.left_out for log in submission.logs)
    assert MOST_OF_ALL * 0.9 < kept <= MOST_OF_ALL


def test_a_log_that_unpacks_to_too_much_is_refused_as_ever(intake):
    bomb = zip_of({"assignment4.py": SOURCE, "run.log": bytes(20 * 2**20)})
    assert "times its own size" in intake.refused("a.zip", bomb)
    large = IntakeLimits(total_mb=1)
    assert "unpacks to more than 1 MB" in intake.refused(
        "a.zip", zip_of({"assignment4.py": SOURCE, "run.log": os.urandom(2 * 2**20)}), large
    )


def test_a_damaged_log_is_named_and_the_code_taken_all_the_same(intake):
    data = zip_of({"assignment4.py": SOURCE, "run.log": b"0123456789" * 9}, zipfile.ZIP_STORED)
    submission = intake("a.zip", data.replace(b"0123456789", b"012345678_"))
    assert submission.logs == () and submission.files == ("assignment4.py",)
    assert dict(submission.ignored) == {"run.log": "not needed to run, and it cannot be read"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_without_permission_spoils_nothing(intake, tmp_path):
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "assignment4.py").write_bytes(SOURCE)
    (tmp_path / "alice" / "run.log").write_bytes(b"x")
    (tmp_path / "alice" / "run.log").chmod(0)
    assert intake.take(tmp_path / "alice").files == ("assignment4.py",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 3_000_001])
def test_the_encodings_of_windows_are_read_at_both_ends(intake, encoding, size):
    text = TEXT + "-" * size + "the end"
    data = (("\ufeff" if encoding.endswith("be") else "") + text).encode(encoding)
    (log,) = intake("a.tar", tar_of({"assignment4.py": SOURCE, "run.log": data}, "w")).logs
    assert log.text.startswith(TEXT) and log.text.endswith("-the end")
    assert (log.left_out > 0) == (size > 1)


def test_bytes_that_are_no_text_are_replaced(intake):
    (log,) = intake("a.zip", zip_of({"assignment4.py": SOURCE, "run.log": b"ok \xff\xfe\x80"})).logs
    assert log.text == "ok \N{REPLACEMENT CHARACTER}" + 2 * "\N{REPLACEMENT CHARACTER}"
    junk = bytes(range(256)) * 40
    (log,) = intake("a.zip", zip_of({"assignment4.py": SOURCE, "run.log": junk})).logs
    assert "A" in log.text


def test_a_name_that_would_confuse_a_terminal_is_written_out(intake):
    (log,) = intake("a.zip", zip_of({"assignment4.py": SOURCE, "\x1b[31m.log": b"x"})).logs
    assert log.name == "\\x1b[31m.log"
