"""Moodle's offline worksheet comes back with grades and feedback, as Moodle takes it in."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake.naming import Naming
from grader.report.gradebook import Row
from grader.report.moodle import feedback, fill_moodle, read_moodle
from grader.report.sheet import SheetError
from grader.rubric import ClassNaming

NAMING = Naming(ClassNaming().names)
TITLES = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"'
)
ANN = '"Participant 123","Ann Lee",ann@x.edu,"Submitted for grading",,100.00,Yes,"Monday, 2 March 2026",-,'
BOB = ANN.replace("123", "124").replace("Ann Lee", "Bob Bo").replace("ann@", "bob@")
FILE = "class.zip/Ann Lee_123_assignsubmission_file_/hw.zip"


def worksheet(*rows: str, titles: str = TITLES) -> bytes:
    return "\r\n".join((titles, *rows, "")).encode()


CLASS = worksheet(ANN, BOB)


def graded(student: str = "Ann Lee_123", score: float = 85, **more: object) -> Row:
    return replace(Row(student, "failed", score, 100, file=FILE), **more)  # type: ignore[arg-type]


def fill(content: bytes, *results: Row) -> tuple[dict[str, dict[str, str]], str]:
    filled = fill_moodle(read_moodle(content), results, NAMING)
    rows = csv.DictReader(io.StringIO(filled.content.decode("utf-8-sig"), newline=""))
    return {row["Identifier"]: row for row in rows}, "\n".join(filled.sentences)


def grades(rows: dict[str, dict[str, str]]) -> list[str]:
    return [row["Grade"] for row in rows.values()]


@pytest.mark.parametrize(
    "result",
    [
        graded(),
        graded("123", file="123.zip"),
        graded("ann@x.edu", file="ann@x.edu.zip"),
        graded("Ann Lee", file="Ann Lee.zip"),
        graded("ann", file="ann.zip", of_roster=("ann", "Ann@x.edu")),
        graded("A Lee_123", file="A Lee_123_assignsubmission_file_"),
    ],
)
def test_a_participant_is_found_by_id_then_mail_then_name(result: Row) -> None:
    rows, _ = fill(CLASS, result)
    assert grades(rows) == ["85", ""]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (graded("lab_123", file="lab_123.zip"), "not to be found in the file: lab_123"),
        (graded("Bob Bo_123", file="Bob Bo_123_assignsubmission_file_"), "those of two people"),
        (graded("zoe", file="zoe.zip"), "not to be found in the file: zoe"),
    ],
)
def test_who_is_not_surely_in_the_file_gets_nothing_and_is_told(result: Row, words: str) -> None:
    rows, told = fill(CLASS, result)
    assert grades(rows) == ["", ""] and words in told


def test_without_names_the_participants_are_still_found() -> None:
    blind = worksheet(
        "Participant 9,,-", "Participant 10,,-", titles="Identifier,Grade,Last modified (grade)"
    )
    result = graded("Participant_10", file="Participant_10_assignsubmission_file_")
    rows, told = fill(blind, result)
    assert grades(rows) == ["", "85"] and "participant 9" in told


@pytest.mark.parametrize("status", ["error", "nothing to grade: no file.", "not graded yet: run it again"])
def test_what_is_no_grade_changes_nothing(status: str) -> None:
    there = CLASS.replace(b'for grading",,', b'for grading",77.00,', 1)
    filled = fill_moodle(read_moodle(there), [graded(status=status)], NAMING)
    assert filled.content == there
    assert any(f"Ann Lee ({status.partition(':')[0]})" in sentence for sentence in filled.sentences)


def test_the_feedback_is_the_score_by_exercise_and_the_worst_finding() -> None:
    result = graded(
        scores={"one": 5, "two": 7.5}, max_scores={"one": 5, "two": 10}, worst="Part 2: if a < b."
    )
    rows, _ = fill(CLASS, result)
    assert rows["Participant 123"]["Feedback comments"] == (
        "Automatic grading: 85 of 100 points. one 5/5; two 7.5/10. Seen most often: Part 2: if a &lt; b."
    )
    assert rows["Participant 124"]["Feedback comments"] == ""


@given(st.text())
def test_feedback_is_one_clean_line_that_no_spreadsheet_runs(worst: str) -> None:
    text = feedback(graded(worst=worst))
    assert text.startswith("Automatic grading:") and len(text.splitlines()) == 1
    assert "<" not in text and "\x1b" not in text and len(text) < 10_000


def test_feedback_of_an_earlier_run_is_replaced_and_that_of_a_person_is_kept() -> None:
    ours = worksheet(f"{ANN}<p>Automatic grading: 3 of 100 points.</p>", f'{BOB}"Well done, Bob"')
    bob = graded("Bob Bo", 90, file="Bob Bo.zip")
    rows, told = fill(ours, graded(), bob)
    texts = [row["Feedback comments"] for row in rows.values()]
    assert texts == ["Automatic grading: 85 of 100 points.", "Well done, Bob"]
    assert grades(rows) == ["85", "90"]
    assert "Feedback that somebody wrote is kept: Bob Bo" in told


def test_a_worksheet_without_feedback_gets_grades_only() -> None:
    content = worksheet("Participant 123,,-", titles="Identifier,Grade,Last modified (grade)")
    assert fill_moodle(read_moodle(content), [graded()], NAMING).content == content.replace(
        b"123,,", b"123,85,"
    )


def test_a_locked_grade_is_left_and_told() -> None:
    rows, told = fill(CLASS.replace(b"100.00,Yes", b"100.00,No", 1), graded())
    assert grades(rows) == ["", ""] and "locked their grade: Ann Lee" in told
    assert rows["Participant 123"]["Feedback comments"] == ""


def test_another_maximum_is_told_and_grades_above_it_by_name() -> None:
    rows, told = fill(CLASS.replace(b"100.00", b"50.00"), graded())
    assert grades(rows) == ["85", ""]
    assert "Moodle gives 50 points for it, and the rubric 100" in told
    assert "leave them out: Ann Lee" in told


def test_decimals_are_written_as_the_file_writes_them() -> None:
    commas = CLASS.replace(b",100.00,", b',"100,00",')
    assert (
        b'grading","80,5","100,00"' in fill_moodle(read_moodle(commas), [graded(score=80.5)], NAMING).content
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Identifier, Grade"),
        (CLASS.replace(b"Identifier", b"Kennung"), "no column Identifier"),
        (CLASS.replace(b"Last modified (grade)", b"x"), r"no column Last modified \(grade\)"),
        (worksheet(), "no student"),
        (CLASS.replace(b"100.00", b"-3.00"), "scale"),
    ],
)
def test_what_moodle_would_refuse_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(SheetError, match=words):
        read_moodle(content)


NAMES = st.text(alphabet=st.sampled_from('abc ,;"\n=+é漢'), max_size=6)


@given(
    names=st.lists(NAMES, min_size=1, max_size=5),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    quote=st.booleans(),
    bom=st.booleans(),
    last_end=st.booleans(),
    data=st.data(),
)
def test_every_byte_but_those_of_grade_and_feedback_stays(
    names: list[str],
    delimiter: str,
    end: str,
    quote: bool,
    bom: bool,
    last_end: bool,
    data: st.DataObject,
) -> None:
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(
        ["Identifier", "Full name", "Grade", "Last modified (grade)", "Feedback comments", "Team"]
    )
    for number, name in enumerate(names):
        writer.writerow([f"Participant {100 + number}", name, "@@", "-", "Automatic grading: @@", "=1+1"])
    content = text.getvalue().encode()
    if not last_end:
        content = content.removesuffix(end.encode())
    content = b"\xef\xbb\xbf" * bom + content
    who = data.draw(st.integers(0, len(names) - 1))

    pieces = content.split(b"@@")
    joints = [b"@@"] * (len(pieces) - 1)
    joints[2 * who : 2 * who + 2] = [b"85", b"85 of 100 points."]
    expected = b"".join(piece + joint for piece, joint in zip(pieces, [*joints, b""], strict=True))
    filled = fill_moodle(read_moodle(content), [graded(str(100 + who), file="")], NAMING)
    assert filled.content == expected
