"""What is accepted: the forms of a submission, where its files may lie, and what is left out."""

from __future__ import annotations

import hashlib
import stat
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401  (what it loads is looked at)

from grader.module_names import RESERVED, STANDARD
from tests.intake.archives import SOURCE, tar_of, zip_of

FORMS = {
    "zip": zip_of,
    "tar": lambda files: tar_of(files, "w"),
    "tar.gz": lambda files: tar_of(files, "w:gz"),
    "tar.xz": lambda files: tar_of(files, "w:xz"),
    "tar.bz2": lambda files: tar_of(files, "w:bz2"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_archive_form_is_told_by_its_content_and_not_by_its_suffix(intake, form):
    submission = intake("alice.dat", FORMS[form]({"assignment4.py": SOURCE, "utils.py": b"x = 1\n"}))
    assert submission.files == ("assignment4.py", "utils.py")
    assert intake.staged() == {"assignment4.py": SOURCE, "utils.py": b"x = 1\n"}
    assert submission.notes == ()


@pytest.mark.parametrize("form", FORMS)
def test_files_inside_one_folder_are_found_and_the_folder_is_noted(intake, form):
    submission = intake(f"alice.{form}", FORMS[form]({"work/assignment4.py": SOURCE, "work/run.log": b"ok"}))
    assert submission.name == "alice"
    assert intake.staged() == {"assignment4.py": SOURCE}
    assert submission.notes == ("The files were inside the folder work/.",)
    assert submission.ignored == ()


def test_a_directory_is_taken_in_and_its_hash_is_that_of_the_staged_files(intake, tmp_path):
    folder = tmp_path / "alice.v2"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "assignment4.py").write_bytes(SOURCE)
    first = intake.take(folder)
    assert first.name == "alice.v2"
    assert first.files == ("assignment4.py",)
    (folder / "notes.md").write_text("this is not staged")
    assert intake.take(folder).sha256 == first.sha256
    (folder / "deep" / "er" / "assignment4.py").write_bytes(SOURCE + b"#")
    assert intake.take(folder).sha256 != first.sha256


def test_a_bare_file_is_taken_in_under_the_labs_name_byte_for_byte(intake):
    source = b"\xef\xbb\xbfprint('caf\xc3\xa9')\r\n"
    submission = intake("assignment4.py", source)
    assert intake.staged() == {"assignment4.py": source}
    assert submission.sha256 == hashlib.sha256(source).hexdigest()
    renamed = intake("alice_12345_assignment4.py", source)
    assert intake.staged() == {"assignment4.py": source}
    assert renamed.notes == ("alice_12345_assignment4.py was taken as assignment4.py.",)


def test_the_hash_of_an_archive_is_that_of_its_bytes(intake):
    data = zip_of({"assignment4.py": SOURCE})
    assert intake("a.zip", data).sha256 == hashlib.sha256(data).hexdigest()


def test_staged_files_and_folders_have_plain_permissions_whatever_the_archive_says(intake):
    intake("a.zip", zip_of({"assignment4.py": SOURCE, "parts/linear.py": b""}))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in intake.staging.rglob("*")}
    assert modes == {"assignment4.py": 0o644, "parts": 0o755, "linear.py": 0o644}


def test_junk_is_left_out_and_named_once_with_its_reason(intake):
    submission = intake(
        "a.zip",
        zip_of(
            {
                "assignment4.py": SOURCE,
                "__MACOSX/._assignment4.py": b"\0",
                "__MACOSX/._utils.py": b"\0",
                "._assignment4.py": b"\0",
                ".DS_Store": b"\0",
                "__pycache__/assignment4.cpython-311.pyc": b"\0",
                ".git/HEAD": b"ref",
                ".venv/lib/torch/__init__.py": b"",
                "slurm-123.out": b"",
                "run.sbatch": b"",
            }
        ),
    )
    assert submission.files == ("assignment4.py",)
    assert dict(submission.ignored) == {
        "__MACOSX/": "written by macOS",
        "._assignment4.py": "written by macOS",
        ".DS_Store": "written by macOS",
        "__pycache__/": "Python's cache",
        ".git/": "version control",
        ".venv/": "a virtual environment",
        "run.sbatch": "only Python files (*.py) are run",
    }


def test_a_directorys_junk_folders_are_not_even_entered(intake, tmp_path):
    environment = tmp_path / "alice" / ".venv"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to("/usr/bin/python3")
    (tmp_path / "alice" / "assignment4.py").write_bytes(SOURCE)
    assert intake.take(tmp_path / "alice").ignored == ((".venv", "a virtual environment"),)


def test_a_file_that_would_hide_a_module_is_left_out_with_that_reason(intake):
    names = ["torch.py", "torch/__init__.py", "sitecustomize.py", "threading.py", "grader/judge.py"]
    submission = intake("a.zip", zip_of({"assignment4.py": SOURCE, **dict.fromkeys(names, b"")}))
    assert submission.files == ("assignment4.py",)
    assert dict(submission.ignored)["torch.py"] == "its name would hide the module torch"
    assert len(submission.ignored) == len(names)


def test_a_file_that_has_the_name_of_a_standard_module_which_torch_starts_without_is_staged(intake):
    modules = ["profile.py", "statistics.py", "queue.py", "trace.py", "code.py", "test.py"]
    names = [*modules, "calendar/__init__.py"]
    submission = intake("a.zip", zip_of({"assignment4.py": SOURCE, **dict.fromkeys(names, b"")}))
    assert set(submission.files) == {"assignment4.py", *names}
    assert submission.ignored == ()


def test_no_standard_module_s_name_is_kept_out_that_python_and_torch_do_not_load():
    frozen = {"runpy"}
    kept_out = {name for name in RESERVED & STANDARD if not name.startswith("_")}
    assert kept_out - frozen <= sys.modules.keys() | set(sys.builtin_module_names)
    assert {"random", "os", "sys", "json", "time"} <= kept_out


def test_of_two_copies_the_one_nearest_the_top_is_taken_and_the_choice_is_noted(intake):
    submission = intake(
        "a.zip",
        zip_of({"w/assignment4.py": SOURCE, "w/old/assignment4.py": b"", "w/old/utils.py": b"", "x.py": b""}),
    )
    assert intake.staged() == {"assignment4.py": SOURCE}
    assert "the one in w/ was taken" in submission.notes[1] and "w/old/" in submission.notes[1]
    assert dict(submission.ignored) == {
        "w/old/assignment4.py": "belongs to another copy of the assignment",
        "w/old/utils.py": "belongs to another copy of the assignment",
        "x.py": "outside the folder w/",
    }


def test_names_that_windows_wrote_with_backslashes_are_folders(intake):
    submission = intake("a.zip", zip_of({"work\\assignment4.py": SOURCE}))
    assert submission.files == ("assignment4.py",)


def test_the_current_directory_has_the_name_of_the_folder(intake, tmp_path, monkeypatch):
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "assignment4.py").write_bytes(SOURCE)
    monkeypatch.chdir(tmp_path / "alice")
    assert intake.take(Path(".")).name == "alice"


def test_two_submissions_are_never_staged_into_one_directory(intake):
    intake("a.zip", zip_of({"assignment4.py": SOURCE}))
    staging = intake.staging
    intake.count -= 1
    with pytest.raises(FileExistsError):
        intake.take(staging / "assignment4.py")
