"""A class from the command line into the files that Canvas and Moodle import."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader import grade_class as grading
from grader.cli import app
from grader.report.schema import Report
from grader.results import Results
from tests.grading import COURSE
from tests.intake.archives import zip_of
from tests.report.made import instead, report_on, verdict

CANVAS = b'Student,ID,SIS Login ID,Section,Lab 4 (47)\r\n"Lee, Ann",11,al,1,\r\n"Bo, Bob",12,bb,1,3\r\n'
MOODLE = (
    b"Identifier,Full name,Grade,Last modified (grade),Feedback comments\n"
    b"Participant 71,Ann Lee,,-,\nParticipant 72,Bob Bo,,-,\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class of two: Ann's hand-in is graded without a run, and there is nothing to grade in Bob's."""
    (tmp_path / "class").mkdir()
    place = tmp_path / "class"
    (place / "Ann Lee_71_assignsubmission_file_a.zip").write_bytes(zip_of({"assignment4.py": b"pass"}))
    (place / "Bob Bo_72_assignsubmission_file_a.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "canvas export.csv").write_bytes(CANVAS)
    (tmp_path / "moodle.csv").write_bytes(MOODLE)

    def report(grader: object, hand_in: object, only: object, options: object) -> Report:
        if "Bob" in str(hand_in):
            return real(grader, hand_in, only, options)  # type: ignore[arg-type]
        message = "<b>It</b> is off."
        return report_on(instead(verdict("first", "hidden", "failed", message=message)))

    real = grading._report
    monkeypatch.setattr(grading, "_report", report)
    return tmp_path


def check(folder: Path, *more: str | Path) -> Result:
    words = ["check", folder / "class", "--out", folder / "results", "--course", COURSE.root, *more]
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_class_is_written_into_both_files_and_again_when_nothing_is_left_to_grade(folder: Path) -> None:
    options = ("--canvas", folder / "canvas export.csv", "--moodle", folder / "moodle.csv")
    for _ in range(2):
        done = check(folder, *options)
        assert done.exit_code == 0, done.output
        canvas = (folder / "results" / "canvas.csv").read_bytes()
        assert canvas == CANVAS.replace(b"11,al,1,", b"11,al,1,70")
        moodle = (folder / "results" / "moodle.csv").read_text()
        assert "Participant 71,Ann Lee,70,-,Automatic grading: 70 of 100 points. first 10/40; " in moodle
        assert "Seen most often: Part 1: first: &lt;b&gt;It&lt;/b&gt; is off.\n" in moodle
        assert "Participant 72,Bob Bo,,-,\n" in moodle
        assert done.stdout.count("because they have no grade: Bo, Bob (nothing to grade)") == 1
        for path in (folder / "results").glob("*.csv"):
            path.unlink()
    assert "kept" in done.stdout
    assert (folder / "canvas export.csv").read_bytes() == CANVAS
    assert (folder / "moodle.csv").read_bytes() == MOODLE


def test_without_the_options_nothing_is_written(folder: Path) -> None:
    assert check(folder).exit_code == 0
    assert [path.name for path in (folder / "results").glob("*.csv")] == ["gradebook.csv"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--canvas", "nowhere.csv"), "cannot be read"),
        (("--canvas", "moodle.csv"), "does not begin with the columns of Canvas"),
        (("--canvas", "canvas export.csv", "--canvas-column", "Lab 5"), "Lab 4 (47)"),
        (("--moodle", "canvas export.csv"), "no column Identifier"),
        (("--canvas-column", "Lab 4"), "give that, too"),
        (("--canvas", "class"), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_filled_in_is_told_before_anything_is_graded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(folder)
    done = check(folder, *options)
    assert done.exit_code == 2 and words in done.stderr
    assert not (folder / "results").exists()


@pytest.mark.parametrize("option", ["--canvas", "--moodle"])
def test_the_instructors_own_file_is_not_written_over(folder: Path, option: str) -> None:
    out = folder / "results"
    out.mkdir()
    name = f"{option.removeprefix('--')}.csv"
    (out / name).write_bytes(CANVAS if option == "--canvas" else MOODLE)
    before = (out / name).read_bytes()
    done = check(folder, option, out / name)
    assert done.exit_code == 2 and "is where the filled file is written" in done.stderr
    assert (out / name).read_bytes() == before


@pytest.mark.parametrize("name", ["canvas.csv", "Moodle.csv"])
def test_a_students_folder_is_never_in_the_place_of_a_filled_file(tmp_path: Path, name: str) -> None:
    assert Results(tmp_path).place(name).name.casefold() != name.casefold()


def test_the_options_are_for_a_class(folder: Path) -> None:
    words = ["check", str(folder / "class"), "--canvas", str(folder / "canvas export.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and "--out" in done.stderr
