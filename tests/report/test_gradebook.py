"""The gradebook survives spreadsheets."""

from __future__ import annotations

import csv
import io

from grader.report.gradebook import Row, gradebook, inert


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_formula_behind_what_some_take_for_the_end_of_a_cell_is_none() -> None:
    assert inert("hw;=2+5;.zip") == "hw;'=2+5;.zip"
    assert inert("a\t @x") == "a\t '@x"
    assert inert("a;b, c-d") == "a;b, c-d"


def test_a_row_for_each_student_and_a_column_for_each_exercise() -> None:
    rows = [
        Row("ann", "passed", 100, 100, {"one": 40, "two": 60}, "ann.zip", "ab12", "2026-11-28"),
        Row("bob", "error", 40, 40, {"one": 40}),
    ]
    ann, bob = read(gradebook(rows, ("one", "two")))
    assert (ann["student"], ann["score"], ann["one"], ann["two"], ann["file"]) == (
        "ann", "100", "40", "60", "ann.zip",
    )  # fmt: skip
    assert (bob["max_score"], bob["two"]) == ("40", "")  # not graded is no zero


def test_text_that_a_spreadsheet_would_run_is_made_inert() -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"]
    rows = read(gradebook([Row(name, "passed", 1, 1, file=name) for name in names], ()))
    assert [row["student"] for row in rows] == [f"'{name}" for name in names]
    assert [row["file"] for row in rows] == [f"'{name}" for name in names]


def test_commas_quotes_and_line_ends_stay_in_their_cell() -> None:
    name = 'O\'Neil, "Cy"\nJr.'
    (row,) = read(gradebook([Row(name, "failed", 0.5, 2)], ()))
    assert (row["student"], row["score"]) == (name, "0.5")


def test_the_columns_of_the_roster_come_first() -> None:
    rows = [Row("ann_11", "passed", 1, 1, of_roster=("11", "Ann")), Row("bob", "passed", 1, 1)]
    text = gradebook(rows, (), ("id", "name"))
    assert text.splitlines()[0].startswith("id,name,student,")
    ann, bob = read(text)
    assert (ann["id"], ann["name"], bob["id"]) == ("11", "Ann", "")
