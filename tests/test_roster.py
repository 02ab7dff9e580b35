"""The class list finds students as hand-ins name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.roster import RosterError, load_roster


@pytest.fixture
def roster_path(tmp_path: Path) -> Path:
    path = tmp_path / "roster.csv"
    path.write_text("\ufeffid,name,email\n11,Ann Lee,ann@x\n12, Bob ,bob@x\n\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("student", "row"),
    [
        ("11", 0),
        ("ann lee", 0),
        ("Ann  Lee_999", 0),
        ("leeann_11", 0),
        ("annlee", 0),
        ("Lee, Ann_7", 0),
        ("somebody_12", 1),
        ("leeann_12", None),  # two rows fit as well
        (" ", None),
        ("bob@x", 1),
        ("dee", None),
        ("1", None),
    ],
)
def test_a_student_is_found_by_any_cell(roster_path: Path, student: str, row: int | None) -> None:
    assert load_roster(roster_path).row_of(student) == row


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"", "no student"), (b"id,name\n", "no student"), (b"id,name\n1\n", "Row 2"), (b"\xff\xfe", "UTF-8")],
)
def test_a_roster_that_cannot_be_used_says_why(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "r.csv").write_bytes(text)
    with pytest.raises(RosterError, match=words):
        load_roster(tmp_path / "r.csv")


@pytest.mark.parametrize(
    ("text", "student", "row"),
    [
        ("name,section\nAnn,1\nBob,2\n", "Bob_1", None),  # 1 is Ann's section
        ("first,last\nJohn,Doe\nJohn,Smith\n", "john_smith", 1),
        ("first,last\nJohn,Doe\nJohn,Smith\n", "Smith_John_77", 1),
        ("first,last\nJohn,Doe\nJohn,Smith\n", "john", None),
        ("id;name\n1;Ann\n2;Bob\n", "bob", 1),
        ("id\tname\n1\tAnn\n2\tBob\n", "2", 1),
        ("name\nJose\u0301\nBob\n", "José", 0),
        ("name,mail\nBob,\nCy,\n", " ", None),
    ],
)
def test_a_row_is_taken_only_where_no_other_fits_as_well(
    tmp_path: Path, text: str, student: str, row: int | None
) -> None:
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    assert load_roster(tmp_path / "r.csv").row_of(student) == row


@pytest.mark.parametrize(
    ("text", "words"), [('id,name\n1,"Ann\n2,Bob\n', "cannot be read"), ("id\n1\n2\n1\n", "repeats row 2")]
)
def test_a_roster_that_contradicts_itself_says_so(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(RosterError, match=words):
        load_roster(tmp_path / "r.csv")
