"""Who has a row in the gradebook, and what stands in it: every student once, and nothing out of date."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grade_class import ClassGraded, ClassOptions, Watcher, grade_class
from grader.options import Options, UsageError
from grader.results import Results
from grader.roster import RosterError, load_roster
from grader.rows import EARLIER
from grader.rubric import load_rubric
from tests.grading import COURSE
from tests.intake.archives import zip_of

NOTHING = zip_of({"readme.md": b""})  # refused by the intake: no sandbox is started for it


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    return tmp_path


def hand_in(folder: Path, *students: str, content: bytes = NOTHING) -> None:
    for student in students:
        (folder / f"{student}.zip").write_bytes(content)


def grade(paths: list[Path], out: Path, roster: str = "") -> tuple[ClassGraded, dict[str, dict[str, str]]]:
    of_class = ClassOptions(out)
    if roster:
        path = out.with_suffix(".csv")
        path.write_text(roster)
        of_class = replace(of_class, roster=load_roster(path))
    rubric = load_rubric(COURSE.rubric_path)
    graded = grade_class(paths, COURSE, rubric, Options(seed=1), of_class, Watcher())
    with open(out / "gradebook.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["student"] for row in rows}) == len(rows)
    return graded, {row["student"]: row for row in rows}


def test_another_part_of_the_class_takes_nobody_out(folder: Path) -> None:
    hand_in(folder / "class", "ann", "bob")
    grade([folder / "class"], folder / "out")
    (folder / "late").mkdir()
    hand_in(folder / "late", "cy")
    graded, rows = grade([folder / "late"], folder / "out", roster="name\nann\nbob\ncy\ndee\n")
    assert {student: row["status"][:7] for student, row in rows.items()} == {
        "ann": "nothing", "bob": "nothing", "cy": "nothing", "dee": "not sub",
    }  # fmt: skip
    assert EARLIER in rows["ann"]["notes"] and EARLIER not in rows["cy"]["notes"]
    assert graded.not_submitted == 1


def test_a_result_that_is_not_of_this_hand_in_is_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(folder / "class", "ann", "bob")
    grade([folder / "class"], folder / "out")
    hand_in(folder / "class", "bob", content=NOTHING + b" ")
    save = Results.save

    def fail_on_bob(results: Results, stored: object) -> None:
        if getattr(stored, "student", "") == "bob":
            raise OSError("no space left on device")
        save(results, stored)  # type: ignore[arg-type]

    monkeypatch.setattr(Results, "save", fail_on_bob)
    _, rows = grade([folder / "class"], folder / "out")
    assert rows["bob"]["status"].startswith("error: The grader failed") and rows["bob"]["score"] == ""
    assert rows["ann"]["score"] == "0"


def test_what_an_interrupted_run_did_not_come_to_is_no_zero(folder: Path) -> None:
    hand_in(folder / "class", "ann", "bob", "cy")

    class Stop(BaseException):
        pass

    def stop(one: object) -> None:
        raise Stop

    of_class = ClassOptions(folder / "out", jobs=1)
    rubric = load_rubric(COURSE.rubric_path)
    with pytest.raises(Stop):
        grade_class([folder / "class"], COURSE, rubric, Options(seed=1), of_class, Watcher(finished=stop))
    with open(folder / "out" / "gradebook.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == ["ann", "bob", "cy"]
    waiting = [row for row in rows if row["status"].startswith("not graded yet")]
    assert len(waiting) >= 2 and all(row["score"] == "" for row in waiting)


def test_who_is_not_in_the_roster_is_told(folder: Path) -> None:
    hand_in(folder / "class", "ann_1", "zoe_9")
    graded, rows = grade([folder / "class"], folder / "out", roster="id;name\n1;Ann\n2;Bob\n")
    assert graded.not_in_roster == ["zoe_9"]
    assert (rows["ann_1"]["name"], rows["zoe_9"]["name"]) == ("Ann", "")


def test_a_roster_without_a_heading_is_told(folder: Path) -> None:
    hand_in(folder / "class", "ann", "bob")
    with pytest.raises(RosterError, match="needs a heading"):
        grade([folder / "class"], folder / "out", roster="ann\nbob\n")


@pytest.mark.parametrize("inside", ["class", "class/results"])
def test_results_among_the_hand_ins_are_refused(folder: Path, inside: str) -> None:
    hand_in(folder / "class", "ann")
    with pytest.raises(UsageError, match="taken for a hand-in"):
        grade([folder / "class"], folder / inside)
    assert [entry.name for entry in (folder / "class").iterdir()] == ["ann.zip"]


def test_two_runs_do_not_write_to_one_folder(folder: Path) -> None:
    hand_in(folder / "class", "ann")
    rubric = load_rubric(COURSE.rubric_path)

    def meanwhile(found: object, at_once: int) -> None:
        with pytest.raises(UsageError, match="Another run"):
            grade([folder / "class"], folder / "out")

    of_class = ClassOptions(folder / "out")
    grade_class([folder / "class"], COURSE, rubric, Options(seed=1), of_class, Watcher(planned=meanwhile))
    grade([folder / "class"], folder / "out")


def test_the_class_has_a_page_with_every_row_of_the_gradebook(folder: Path) -> None:
    hand_in(folder / "class", "ann", "bob")
    grade([folder / "class"], folder / "out")
    (folder / "late").mkdir()
    hand_in(folder / "late", "cy")
    _, rows = grade([folder / "late"], folder / "out", roster="name\nann\nbob\ncy\ndee\n")
    text = (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert all(f'<th scope="row">{student}</th>' in text for student in rows)
    assert "4 students, 3 nothing to grade, 1 not submitted" in text


def test_a_student_named_as_the_page_of_the_class_does_not_take_its_place(folder: Path) -> None:
    hand_in(folder / "class", "index.html")
    grade([folder / "class"], folder / "out")
    assert (folder / "out" / "index.html").is_file()
