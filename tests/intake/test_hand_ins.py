"""Whose hand-ins there are in what was downloaded."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from grader.intake import IntakeError
from grader.intake.hand_ins import HandIn, Naming, find_hand_ins
from grader.rubric import ClassNaming
from tests.intake.archives import SOURCE, tar_of, zip_of

NAMING = Naming(ClassNaming().names)
ZIP = zip_of({"assignment4.py": SOURCE})


def lay_out(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def found(tmp_path: Path, *paths: Path) -> dict[str, HandIn]:
    hand_ins = find_hand_ins(paths, ("assignment4.py",), NAMING, tmp_path / "unpacked")
    assert [one.student for one in hand_ins] == sorted({one.student for one in hand_ins})
    return {one.student: one for one in hand_ins}


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    return folder


def test_archives_folders_and_files_of_a_folder_are_hand_ins(tmp_path: Path, downloads: Path) -> None:
    lay_out(
        downloads,
        {
            "ann.zip": ZIP,
            "bob/assignment4.py": SOURCE,
            "cy/hw4/assignment4.py": SOURCE,
            "dee.py": SOURCE,
            "eve.tar.gz": ZIP,
            "fay/work.zip": ZIP,
            ".DS_Store": b"",
            "notes.txt": b"",
            "gus": ZIP,
            "hal.rar": b"Rar!",
        },
    )
    hand_ins = found(tmp_path, downloads)
    assert list(hand_ins) == ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal.rar"]
    assert hand_ins["bob"].path == downloads / "bob"
    assert hand_ins["fay"].path == downloads / "fay" / "work.zip"


def test_a_folder_with_the_labs_file_is_one_hand_in(tmp_path: Path, downloads: Path) -> None:
    lay_out(downloads / "ann", {"Assignment_4.py": SOURCE, "utils.py": b""})
    assert list(found(tmp_path, downloads / "ann")) == ["ann"]


def test_several_paths_are_one_class(tmp_path: Path, downloads: Path) -> None:
    lay_out(downloads, {"a/ann.zip": ZIP, "a/bob.zip": ZIP, "cy.py": SOURCE})
    assert list(found(tmp_path, downloads / "a", downloads / "cy.py")) == ["ann", "bob", "cy"]


MOODLE = {
    "Ann Lee_123_assignsubmission_file_/work.zip": ZIP,
    "Bob_124_assignsubmission_file_/assignment4.py": SOURCE,
    "Cy O'Neil_125_assignsubmission_file_assignment4.py": SOURCE,
}
CANVAS = {
    "leeann_11_901_work.zip": ZIP,
    "bob_LATE_12_902_assignment4.py": SOURCE,
    "bob_12_801_assignment4.py": SOURCE,
}


@pytest.mark.parametrize("form", [zip_of, tar_of])
@pytest.mark.parametrize("around", ["", "HW4/"])
@pytest.mark.parametrize(
    ("files", "students"),
    [(MOODLE, ["Ann Lee_123", "Bob_124", "Cy O'Neil_125"]), (CANVAS, ["bob_12", "leeann_11"])],
    ids=["Moodle", "Canvas"],
)
def test_one_archive_of_a_whole_class_is_unpacked(tmp_path, downloads, form, around, files, students) -> None:
    archive = downloads / "class.zip"
    archive.write_bytes(form({around + name: content for name, content in files.items()}))
    hand_ins = found(tmp_path, archive)
    assert list(hand_ins) == students
    assert all(one.path.exists() for one in hand_ins.values())
    assert all(one.file.startswith(f"{archive}/") for one in hand_ins.values())


def test_an_archive_of_one_student_stays_one(tmp_path: Path, downloads: Path) -> None:
    (downloads / "ann.zip").write_bytes(ZIP)
    assert found(tmp_path, downloads / "ann.zip")["ann"].path == downloads / "ann.zip"


def test_of_several_attempts_the_newest_counts_and_the_report_will_say_so(
    tmp_path: Path, downloads: Path
) -> None:
    lay_out(downloads, {"bob_12_801_a.py": SOURCE, "bob_12_802_b.py": SOURCE, "bob_LATE_12_803_c.py": SOURCE})
    for name, when in (("bob_12_801_a.py", 300), ("bob_12_802_b.py", 900), ("bob_LATE_12_803_c.py", 600)):
        os.utime(downloads / name, (when, when))
    (bob,) = found(tmp_path, downloads).values()
    assert bob.path.name == "bob_12_802_b.py"
    (note,) = bob.notes
    assert "3 attempts" in note and "bob_12_801_a.py, bob_LATE_12_803_c.py" in note


def test_the_time_stamps_of_an_archive_decide_between_attempts(tmp_path: Path, downloads: Path) -> None:
    with zipfile.ZipFile(downloads / "class.zip", "w") as archive:
        for name, year in (("bob_12_1_a.py", 2025), ("bob_12_2_b.py", 2024)):
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), SOURCE)
    (bob,) = found(tmp_path, downloads / "class.zip").values()
    assert bob.path.name == "bob_12_1_a.py"


def test_a_hostile_member_never_leaves_the_folder(tmp_path: Path, downloads: Path) -> None:
    archive = downloads / "class.zip"
    archive.write_bytes(zip_of({**CANVAS, "../bob_13_1_x.py": SOURCE}))
    assert list(found(tmp_path, archive)) == ["class"]  # refused as a whole, by the intake, with its sentence
    assert not (tmp_path / "unpacked").exists()


def test_nothing_to_grade_is_told(tmp_path: Path, downloads: Path) -> None:
    with pytest.raises(IntakeError, match="no hand-in"):
        found(tmp_path, downloads)
    with pytest.raises(IntakeError, match="does not exist"):
        found(tmp_path, downloads / "nowhere")
