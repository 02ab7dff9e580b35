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
        ("leeann_12", 1),
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
