"""Whose hand-ins there are in what was downloaded."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from grader.intake import IntakeError
from grader.intake.attempts import HandIn
from grader.intake.hand_ins import find_hand_ins
from grader.intake.naming import Naming
from grader.rubric import ClassNaming
from tests.intake.archives import SOURCE, special, tar_of, zip_of

NAMING = Naming(ClassNaming().names)
ZIP = zip_of({"assignment4.py": SOURCE})


def lay_out(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def found(tmp_path: Path, *paths: Path) -> dict[str, HandIn]:
    hand_ins = find_hand_ins(paths, ("assignment4.py",), NAMING, tmp_path / "unpacked").hand_ins
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
    assert list(hand_ins) == ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal"]
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
    hand_ins = found(tmp_path, archive)
    assert list(hand_ins) == ["bob_12", "bob_13", "leeann_11"]
    assert "climbs out of its folder" in hand_ins["bob_13"].refused
    assert not hand_ins["leeann_11"].refused
    assert not list(tmp_path.rglob("bob_13*"))


def test_nothing_to_grade_is_told(tmp_path: Path, downloads: Path) -> None:
    with pytest.raises(IntakeError, match="no hand-in"):
        found(tmp_path, downloads)
    with pytest.raises(IntakeError, match="does not exist"):
        found(tmp_path, downloads / "nowhere")


def test_a_zip_among_others_is_its_students_whatever_is_in_it(tmp_path: Path, downloads: Path) -> None:
    lay_out(
        downloads,
        {
            "Eve_1_assignsubmission_file_a.zip": zip_of({"Bob_2_assignsubmission_file_a.py": SOURCE}),
            "Bob_2_assignsubmission_file_a.zip": ZIP,
        },
    )
    hand_ins = found(tmp_path, *sorted(downloads.iterdir()))
    assert {student: one.path.name for student, one in hand_ins.items()} == {
        "Bob_2": "Bob_2_assignsubmission_file_a.zip",
        "Eve_1": "Eve_1_assignsubmission_file_a.zip",
    }


def test_one_students_archive_stays_one_though_its_log_has_a_name_like_a_hand_in(
    tmp_path: Path, downloads: Path
) -> None:
    (downloads / "eve.zip").write_bytes(zip_of({"assignment4.py": SOURCE, "run_4_1_out.log": b""}))
    assert found(tmp_path, downloads / "eve.zip")["eve"].path == downloads / "eve.zip"


@pytest.mark.parametrize("beside", ["alice.zip", "bob/assignment4.py", "cy_1_2_work.rar"])
def test_a_lab_file_among_other_hand_ins_is_asked_about(tmp_path: Path, downloads: Path, beside: str) -> None:
    lay_out(downloads, {"assignment4.py": SOURCE, "notes.txt": b"", beside: ZIP})
    with pytest.raises(IntakeError, match="one hand-in or a class"):
        found(tmp_path, downloads)


def test_what_was_typed_beside_a_file_is_no_newer_attempt(tmp_path: Path, downloads: Path) -> None:
    lay_out(
        downloads,
        {
            "Al_1_assignsubmission_file_/assignment4.py": SOURCE,
            "Al_1_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
            "Bo_2_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
        },
    )
    os.utime(downloads / "Al_1_assignsubmission_file_" / "assignment4.py", (5, 5))
    hand_ins = found(tmp_path, downloads)
    assert hand_ins["Al_1"].path.name == "Al_1_assignsubmission_file_"
    assert "Bo_2" in hand_ins  # to be refused with a sentence


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (("doe_1_2_assignment4.py", "doe_1_3_utils.py"), "doe_1_2_assignment4.py"),
        (("doe_1_2_assignment4.py", "doe_1_3_assignment4-1.py"), "doe_1_3_assignment4-1.py"),
        (("doe_1_2_assignment4-9.py", "doe_1_3_assignment4-10.py"), "doe_1_3_assignment4-10.py"),
        (("doe_1_2_assignment4.py", "doe_1_3_notes.txt"), "doe_1_2_assignment4.py"),
    ],
)
def test_of_several_files_of_one_time_the_work_itself_is_taken(
    tmp_path: Path, downloads: Path, files: tuple[str, str], chosen: str
) -> None:
    for name in (*files, "roe_5_6_assignment4.py"):
        (downloads / name).write_bytes(SOURCE)
        os.utime(downloads / name, (1000, 1000))
    assert found(tmp_path, downloads)["doe_1"].path.name == chosen


def test_names_that_all_begin_alike_tell_nobody(tmp_path: Path, downloads: Path) -> None:
    lay_out(downloads, {"lab_04_2026_alice.zip": ZIP, "lab_04_2026_bob.zip": ZIP})
    assert list(found(tmp_path, downloads)) == ["lab_04_2026_alice", "lab_04_2026_bob"]


def test_a_students_own_file_name_is_no_other_students(tmp_path: Path, downloads: Path) -> None:
    lay_out(
        downloads,
        {
            "Al_12_assignsubmission_file_Bo_99_assignsubmission_file_x.py": SOURCE,
            "Bo_99_assignsubmission_file_x.py": SOURCE,
        },
    )
    assert list(found(tmp_path, downloads)) == ["Al_12", "Bo_99"]


def test_what_a_file_manager_writes_makes_no_attempt_newer(tmp_path: Path, downloads: Path) -> None:
    lay_out(downloads, {"doe_1_2_old/assignment4.py": SOURCE, "doe_1_3_new/assignment4.py": SOURCE})
    os.utime(downloads / "doe_1_2_old" / "assignment4.py", (1000, 1000))
    os.utime(downloads / "doe_1_3_new" / "assignment4.py", (2000, 2000))
    lay_out(downloads, {"doe_1_2_old/.DS_Store": b"", "roe_4_5_x.py": SOURCE})
    assert found(tmp_path, downloads)["doe_1"].path.name == "doe_1_3_new"


@pytest.mark.parametrize("files", [("hw.py", "src/model.py"), ("a4.zip",)])
def test_a_class_of_one_has_its_students_name(
    tmp_path: Path, downloads: Path, files: tuple[str, ...]
) -> None:
    lay_out(downloads / "ann", dict.fromkeys(files, ZIP))
    assert list(found(tmp_path, downloads)) == ["ann"]


def test_a_folder_that_cannot_be_read_is_refused_and_the_others_are_not(
    tmp_path: Path, downloads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(downloads, {"ann.zip": ZIP, "bob/assignment4.py": SOURCE})
    listdir = os.listdir

    def closed(folder: Path) -> list[str]:  # root, too, may read everything
        if Path(folder).name == "bob":
            raise PermissionError(13, "Permission denied")
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", closed)
    hand_ins = found(tmp_path, downloads)
    assert "cannot be read" in hand_ins["bob"].refused and not hand_ins["ann"].refused


def test_a_name_that_is_no_text_is_written_out(tmp_path: Path, downloads: Path) -> None:
    with open(os.fsencode(downloads) + b"/J\xe9.zip", "wb") as file:
        file.write(ZIP)
    ((student, hand_in),) = found(tmp_path, downloads).items()
    assert student == "J\\udce9" and hand_in.path.exists()
    hand_in.file.encode("utf-8")


PROBLEMS = {
    "a climbing name": zip_of({**MOODLE, "Ev_3_assignsubmission_file_/..\\x.py": SOURCE}),
    "a name too long": zip_of({**MOODLE, f"Ev_3_assignsubmission_file_/{'x' * 256}.py": SOURCE}),
    "a hidden file": zip_of({**MOODLE, "Ev_3_assignsubmission_file_/.assignment4.py": SOURCE}),
    "a path too long": zip_of(
        {**MOODLE, "Ev_3_assignsubmission_file_/" + 25 * ("d" * 200 + "/") + "x.py": SOURCE}
    ),
    "a link": tar_of(MOODLE, extra=[special("Ev_3_assignsubmission_file_/a.py", tarfile.SYMTYPE, "/etc")]),
}


@pytest.mark.parametrize("what", PROBLEMS)
def test_what_is_wrong_with_one_member_is_its_students_problem_alone(
    tmp_path: Path, downloads: Path, what: str
) -> None:
    (downloads / "class.zip").write_bytes(PROBLEMS[what])
    hand_ins = found(tmp_path, downloads / "class.zip")
    assert list(hand_ins) == ["Ann Lee_123", "Bob_124", "Cy O'Neil_125", "Ev_3"]
    assert "class" in hand_ins["Ev_3"].refused
    assert [one.student for one in hand_ins.values() if one.refused] == ["Ev_3"]


def test_a_file_of_zeros_condemns_nobody(tmp_path: Path, downloads: Path) -> None:
    files = {**MOODLE, "Ev_3_assignsubmission_file_/log.bin": bytes(9 << 20)}
    (downloads / "class.zip").write_bytes(zip_of(files))
    assert "Ann Lee_123" in found(tmp_path, downloads / "class.zip")


def test_a_member_that_is_there_twice_is_told_and_the_first_is_taken(tmp_path: Path, downloads: Path) -> None:
    pairs = [*MOODLE.items(), ("Bob_124_assignsubmission_file_/assignment4.py", b"other")]
    with pytest.warns(UserWarning, match="Duplicate name"):
        (downloads / "class.zip").write_bytes(zip_of(pairs))
    bob = found(tmp_path, downloads / "class.zip")["Bob_124"]
    assert (bob.path / "assignment4.py").read_bytes() == SOURCE
    assert any("could not be taken out" in note for note in bob.notes)


@pytest.mark.parametrize("mtime", ["inf", "1e30", "-1"])
def test_an_impossible_time_is_no_time(tmp_path: Path, downloads: Path, mtime: str) -> None:
    odd = tarfile.TarInfo("Ev_3_assignsubmission_file_/assignment4.py")
    odd.pax_headers = {"mtime": mtime}
    (downloads / "class.tar").write_bytes(tar_of(MOODLE, extra=[odd]))
    assert "Ev_3" in found(tmp_path, downloads / "class.tar")
