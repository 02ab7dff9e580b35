"""The gradebook that Canvas exports comes back with one column filled, as Canvas takes it in."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake.naming import Naming
from grader.report.canvas import fill_canvas, read_canvas
from grader.report.gradebook import NOT_SUBMITTED, Row
from grader.report.sheet import SheetError
from grader.rubric import ClassNaming

NAMING = Naming(ClassNaming().names)
HEADER = "Student,ID,SIS User ID,SIS Login ID,Section,Lab 4 (4711),Current Score,Final Grade"
POINTS = "    Points Possible,,,,,100.00,(read only),(read only)"
ANN = '"Lee, Ann",11,s11,alee,"Sec, 1",,,'
BOB = '"Bo, Bob",12,s12,bbo,"Sec, 1",,,'


def export(*lines: str, end: str = "\n") -> bytes:
    return end.join((*lines, "")).encode()


CLASS = export(HEADER, POINTS, ANN, BOB)


def graded(student: str, score: float = 85, **more: object) -> Row:
    return replace(Row(student, "passed", score, 100), **more)  # type: ignore[arg-type]


def fill(content: bytes, *results: Row, column: str | None = None) -> tuple[dict[str, str], str]:
    """The filled column by student, and the sentences."""
    read = read_canvas(content, column)
    filled = fill_canvas(read, results, NAMING)
    text = filled.content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=read.sheet.delimiter))
    return {row[0]: row[read.column] for row in rows if row}, "\n".join(filled.sentences)


@pytest.mark.parametrize(
    ("student", "more"),
    [
        ("11", {}),
        ("s11", {}),
        ("ALee", {}),
        ("Ann Lee", {}),
        ("Lee, Ann", {}),
        ("ann_lee", {}),
        ("leeann", {}),
        ("leeann_11", {"file": "in/leeann_11_998_assignment4.py"}),
        ("leeann_11", {"file": "in/leeann_LATE_11_998_hw.zip"}),
        ("ann", {"of_roster": ("s11", "A. Lee")}),
        ("ann", {"of_roster": ("Ann", "Lee")}),
    ],
)
def test_a_student_is_found_by_id_login_or_name(student: str, more: dict[str, object]) -> None:
    column, _ = fill(CLASS, graded(student, **more))
    assert column["Lee, Ann"] == "85" and column["Bo, Bob"] == ""


@pytest.mark.parametrize(
    ("student", "file", "words"),
    [
        ("zoe", "zoe.zip", "not to be found in the file: zoe"),
        ("lab_11", "lab_11.zip", "not to be found in the file: lab_11"),  # Canvas wrote no id into it
        ("bobbo_11", "bobbo_11_9_a.py", "those of two people in the file"),
    ],
)
def test_who_is_not_surely_in_the_file_gets_nothing_and_is_told(student: str, file: str, words: str) -> None:
    column, told = fill(CLASS, graded(student, file=file))
    assert column["Lee, Ann"] == column["Bo, Bob"] == ""
    assert words in told


def test_a_section_in_the_roster_is_nobodys_id() -> None:
    in_section = [graded(name, of_roster=(name, "11")) for name in ("x", "y")]
    column, told = fill(CLASS, *in_section)
    assert column["Lee, Ann"] == "" and "not to be found in the file: x, y" in told


def test_of_two_people_with_one_name_neither_is_taken_by_name() -> None:
    twins = export(HEADER, POINTS, ANN, ANN.replace("11", "13").replace("alee", "alee2"), BOB)
    _, told = fill(twins, graded("Ann Lee"))
    assert "more than one row of the file fits: Ann Lee" in told
    content = fill_canvas(read_canvas(twins), [graded("13")], NAMING).content
    assert content == twins.replace(b'13,s13,alee2,"Sec, 1",,', b'13,s13,alee2,"Sec, 1",85,')


def test_two_hand_ins_of_one_student_are_told_and_neither_is_taken() -> None:
    column, told = fill(CLASS, graded("11"), graded("Ann Lee", 40))
    assert column["Lee, Ann"] == "" and "fits several hand-ins: 11, Ann Lee" in told


@pytest.mark.parametrize(
    "result",
    [
        Row("11", "error", 40, 40),
        Row("11", "nothing to grade: it is no archive.", 0, 100),
        Row("11", "not graded yet: run the same command again", None, 100),
        Row("11", NOT_SUBMITTED, 0, 100),
    ],
)
def test_what_is_no_grade_overwrites_nobodys_score(result: Row) -> None:
    there = export(HEADER, POINTS, ANN.replace('1",,,', '1",77.50,,'), BOB)
    filled = fill_canvas(read_canvas(there), [result], NAMING)
    assert filled.content == there
    assert any("Lee, Ann" in sentence for sentence in filled.sentences)


def test_a_score_that_is_there_is_replaced_and_told_unless_it_is_the_same() -> None:
    there = export(HEADER, POINTS, ANN.replace('1",,,', '1",77.50,,'), BOB.replace('1",,,', '1",85.00,,'))
    column, told = fill(there, graded("11", 80.5), graded("12", 85))
    assert column["Lee, Ann"] == "80.5" and column["Bo, Bob"] == "85.00"
    assert "Lee, Ann (77.50, now 80.5)" in told and "Bo, Bob (" not in told


@pytest.mark.parametrize("text", ["EX", "N/A"])
def test_an_excused_student_stays_excused(text: str) -> None:
    column, told = fill(export(HEADER, POINTS, ANN.replace('1",,,', f'1",{text},,'), BOB), graded("11"))
    assert column["Lee, Ann"] == text and f"Lee, Ann ({text})" in told


def test_other_points_than_canvas_has_are_written_unscaled_and_told() -> None:
    column, told = fill(CLASS.replace(b"100.00", b"50"), graded("11"))
    assert column["Lee, Ann"] == "85" and "Canvas has 50 points for it, and the rubric 100" in told
    assert "points for it" not in fill(CLASS, graded("11"))[1]


SEVERAL = export(
    "Student;ID;SIS Login ID;Section;Notes;Lab 3 (31);Lab 4 (41);Lab 4 (42);Late (x) (50);Final Score",
    "Points Possible;;;;;10,00;20,00;(read only);5;(read only)",
    "Ann;11;alee;1;hm;;;;;",
)


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("Lab 3", 5),
        ("lab 3", 5),
        ("31", 5),
        ("(41)", 6),
        ("Lab 4 (41)", 6),
        ("Lab 4", 6),
        ("Late (x)", 8),
        ("Notes", 4),
    ],
)
def test_a_column_is_chosen_by_title_or_id(wanted: str, place: int) -> None:
    assert read_canvas(SEVERAL, wanted).column == place


@pytest.mark.parametrize("wanted", [None, "Lab 9", "42", "Lab 4 (42)", "Final Score", "Section", "ID", ""])
def test_without_one_column_to_fill_the_columns_are_listed(wanted: str | None) -> None:
    with pytest.raises(SheetError, match=r"Lab 3 \(31\), Lab 4 \(41\), Late \(x\) \(50\)"):
        read_canvas(SEVERAL, wanted)


def test_a_title_that_canvas_takes_for_a_total_is_no_column_to_fill() -> None:
    content = export("Student,ID,Section,Final Score essay (60),Lab (61)", "Ann,1,,,")
    assert read_canvas(content).column == 4
    with pytest.raises(SheetError, match="No column that may be filled"):
        read_canvas(content, "60")


def test_two_columns_of_one_title_are_not_told_apart_by_it() -> None:
    with pytest.raises(SheetError, match="More than one column"):
        read_canvas(SEVERAL.replace(b";(read only);5", b";;5"), "Lab 4")


def test_in_a_file_with_semicolons_decimals_have_a_comma() -> None:
    column, _ = fill(SEVERAL, graded("11", 8.25), column="31")
    assert column["Ann"] == "8,25"
    points = SEVERAL.replace(b"10,00", b"10.00").replace(b"20,00", b"20.00")
    assert fill(points, graded("11", 8.25), column="31")[0]["Ann"] == "8.25"


def test_a_decimal_comma_between_commas_is_quoted() -> None:
    commas = CLASS.replace(b"100.00", b'"100,00"')
    assert b'"Sec, 1","80,5",,' in fill_canvas(read_canvas(commas), [graded("11", 80.5)], NAMING).content


@pytest.mark.parametrize(
    "header",
    [
        "Student,ID,Section,Lab (1)",
        "Student,ID,SIS Login ID,Section,Lab (1)",
        "Student,ID,SIS User ID,SIS Login ID,Integration ID,Root Account,Section,Lab (1)",
        "LastName,FirstName,ID,SIS Login ID,Section,Lab (1)",
    ],
)
def test_every_header_that_canvas_writes_is_read(header: str) -> None:
    width = header.count(",")
    begin = "Lee,Ann,11" if header.startswith("Last") else "Ann Lee,11"
    row = begin + "," * (width - begin.count(","))
    content = export(header, row)
    assert fill_canvas(read_canvas(content), [graded("Ann Lee")], NAMING).content == export(
        header, f"{row}85"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not begin with the columns of Canvas"),
        (export("name,id", "ann,1"), "does not begin with the columns of Canvas"),
        (export("Student,ID,SIS Login ID,Lab (1)", "Ann,1,,"), "Section"),
        (export("Student,ID,Section,Final Score", "Ann,1,,"), "no column of an assignment"),
        (export("Student,ID,Section,Lab (1)", "Points Possible,,,1"), "no student"),
    ],
)
def test_what_canvas_would_refuse_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(SheetError, match=words):
        read_canvas(content)


def test_the_row_of_hidden_assignments_is_no_student() -> None:
    content = export(HEADER, ",,,,,Manual Posting,,", POINTS, ANN, BOB)
    _, told = fill(content, graded("11"), graded("12"))
    assert told.startswith("2 of 2 students")


def test_a_row_that_ends_before_the_column_is_told() -> None:
    content = export(HEADER, POINTS, '"Lee, Ann",11,s11', BOB)
    filled = fill_canvas(read_canvas(content), [graded("11")], NAMING)
    assert filled.content == content
    assert any("their row ends before the column: Lee, Ann" in sentence for sentence in filled.sentences)


NAMES = st.text(alphabet=st.sampled_from('abc ,;"\n=+é漢'), min_size=1, max_size=6).filter(str.strip)


@given(
    names=st.lists(NAMES, min_size=1, max_size=5),
    delimiter=st.sampled_from(",;"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    bom=st.booleans(),
    last_end=st.booleans(),
    score=st.sampled_from([0, 7.5, 100]),
    data=st.data(),
)
def test_every_byte_but_those_of_the_score_stays(
    names: list[str],
    delimiter: str,
    end: str,
    quoting: int,
    bom: bool,
    last_end: bool,
    score: float,
    data: st.DataObject,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["Student", "ID", "Section", "Notes", "Lab (7)", "Final Score"])
    writer.writerow(["Points Possible", "", "", "", "9,5" if delimiter == ";" else "9.5", "(read only)"])
    for number, name in enumerate(names):
        writer.writerow([name, 100 + number, "s", "=1+1", "@@", "1"])
    content = text.getvalue().encode()
    if not last_end:
        content = content.removesuffix(end.encode())
    content = b"\xef\xbb\xbf" * bom + content
    who = data.draw(st.integers(0, len(names) - 1))

    before = content.split(b"@@")
    written = str(score).replace(".", "," if delimiter == ";" else ".").encode()
    expected = b"@@".join((*before[: who + 1], b"")).removesuffix(b"@@") + written
    expected += b"@@".join(before[who + 1 :])
    filled = fill_canvas(read_canvas(content), [graded(str(100 + who), score)], NAMING)
    assert filled.content == expected
