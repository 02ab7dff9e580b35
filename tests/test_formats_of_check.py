"""``--format`` and ``--audience``: which files come where, for one submission and for a class."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import grader.cli_check
import grader.grade_class
from grader.check import Graded
from grader.cli import app
from grader.intake import IntakeError
from grader.report.schema import Report
from grader.timings import Timings
from tests.grading import COURSE
from tests.report.made import instead, report_on, verdict

FAILED = report_on(instead(verdict("first", "hidden", "failed", 31337, message="The size is 31337.")))


def grader_check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments), "--course", str(COURSE.root)])


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and a grader that gives every submission the same report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grader.cli_check, "check", lambda *_: Graded(FAILED, Timings(0.0)))
    return tmp_path


def test_a_format_comes_under_its_own_name_or_the_one_that_is_given(one: Path) -> None:
    done = grader_check(
        "x.py", "--format", "md", "--format", "junit=a b.xml", "--format", "gradescope", "--format", "github"
    )
    assert done.exit_code == 1
    assert sorted(path.name for path in one.iterdir()) == [
        "a b.xml",
        "github.json",
        "report.md",
        "results.json",
    ]
    assert ET.parse(one / "a b.xml").getroot().tag == "testsuites"
    assert "The size is 31337." in (one / "report.md").read_text(encoding="utf-8")
    assert "marks lost" in done.stdout
    for shown_to_students in ("results.json", "github.json"):
        assert "31337" not in (one / shown_to_students).read_text()


def test_a_format_on_standard_output_stands_there_alone(one: Path) -> None:
    done = grader_check("x.py", "--format", "junit=-")
    assert ET.fromstring(done.stdout.encode()).tag == "testsuites"
    assert (done.exit_code, list(one.iterdir())) == (1, [])


def test_json_is_the_format_json(one: Path) -> None:
    assert Report.from_json(grader_check("x.py", "--json", "-").stdout) == FAILED
    grader_check("x.py", "--json", "a.json", "--format", "json=b.json")
    assert (one / "a.json").read_bytes() == (one / "b.json").read_bytes() == FAILED.to_json().encode()


def test_for_students_neither_table_nor_files_give_hidden_cases_away(one: Path) -> None:
    done = grader_check("x.py", "--audience", "student", "--format", "json", "--format", "md")
    texts = [done.stdout, *(path.read_text(encoding="utf-8") for path in one.iterdir())]
    assert len(texts) == 3
    assert not any("31337" in text or "--seed" in text for text in texts)
    assert "The size is …." in done.stdout


def test_in_github_actions_the_log_is_guarded(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = grader_check("x.py").stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 32 and lines[-1] == f"::{token}::"
    assert grader_check("x.py", "--json", "-").stdout == FAILED.to_json()


def test_a_file_that_cannot_be_written_is_told(one: Path) -> None:
    (one / "report.md").mkdir()
    done = grader_check("x.py", "--format", "md")
    assert (done.exit_code, "could not be written" in done.stderr) == (3, True)


class Stub:
    """A grader of a class that runs nothing: ann fails, bob is refused, and it counts."""

    graded = 0

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_: object) -> None: ...

    def give_up(self) -> None: ...

    def grade(self, path: Path, only: tuple[str, ...] = ()) -> Graded:
        type(self).graded += 1
        if "refused" in path.read_text():
            raise IntakeError("It is empty.", "So.", "Hand it in again.")
        parts = [
            part.model_copy(update={"name": name})
            for name, part in zip(("single_step", "script"), FAILED.exercises, strict=True)
        ]
        return Graded(FAILED.model_copy(update={"exercises": tuple(parts)}), Timings(0.0))


@pytest.fixture
def hand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(grader.grade_class, "Grader", Stub)
    monkeypatch.setattr(Stub, "graded", 0)
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / "ann.py").write_text("x = 1\n")
    (folder / "bob.py").write_text("refused = 1\n")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_in_a_class_each_students_folder_gets_the_file(hand_ins: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = grader_check(
        hand_ins, "--out", out, "--format", "md", "--format", "json", "--audience", "instructor"
    )
    assert done.exit_code == 0, done.output
    assert names(out / "ann") == ["report.html", "report.json", "report.md", "result.json"]
    assert names(out / "bob") == ["result.json"]


def test_a_format_that_is_asked_for_later_is_made_without_grading_again(
    hand_ins: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    grader_check(hand_ins, "--out", out)
    report = (out / "ann" / "report.json").read_bytes()
    before = Stub.graded
    done = grader_check(
        hand_ins, "--out", out, "--format", "junit", "--format", "md", "--audience", "student"
    )
    assert (done.exit_code, Stub.graded) == (0, before)
    assert names(out / "ann") == ["junit.xml", "report.html", "report.json", "report.md", "result.json"]
    assert "31337" not in (out / "ann" / "report.md").read_text(encoding="utf-8")
    assert (out / "ann" / "report.json").read_bytes() == report
    grader_check(hand_ins, "--out", out, "--format", "md")
    assert "31337" in (out / "ann" / "report.md").read_text(encoding="utf-8")


def test_in_a_class_the_page_for_students_has_a_name_of_its_own(hand_ins: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = grader_check(hand_ins, "--out", out, "--format", "html", "--audience", "student")
    assert done.exit_code == 0, done.output
    assert names(out / "ann") == ["report.html", "report.json", "result.json", "student.html"]
    staff, student = ((out / "ann" / name).read_text("utf-8") for name in ("report.html", "student.html"))
    assert "31337" in staff and "For staff: this page shows hidden cases." in staff
    assert "31337" not in student and "Student’s copy: the numbers of hidden" in student
    assert "student.html" not in (out / "index.html").read_text("utf-8")
    (hand_ins / "ann.py").write_text("x = 2\n")
    grader_check(hand_ins, "--out", out, "--format", "html")
    assert names(out / "ann") == ["report.html", "report.json", "result.json"]


@pytest.mark.parametrize("audience", ["instructor", "student"])
def test_the_page_of_one_submission_has_one_name_for_either_audience(one: Path, audience: str) -> None:
    grader_check("x.py", "--format", "html", "--audience", audience)
    assert names(one) == ["report.html"]
    assert ("31337" in (one / "report.html").read_text("utf-8")) == (audience == "instructor")


def test_what_was_made_from_an_earlier_hand_in_goes(hand_ins: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    grader_check(hand_ins, "--out", out, "--format", "md", "--format", "junit")
    (hand_ins / "ann.py").write_text("x = 2\n")
    grader_check(hand_ins, "--out", out, "--format", "junit")
    assert names(out / "ann") == ["junit.xml", "report.html", "report.json", "result.json"]
    (hand_ins / "ann.py").write_text("refused = 1\n")
    grader_check(hand_ins, "--out", out, "--format", "junit")
    assert names(out / "ann") == ["result.json"]


def test_a_file_that_cannot_be_written_costs_nobody_the_result(hand_ins: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "ann" / "report.md").mkdir(parents=True)
    done = grader_check(hand_ins, "--out", out, "--format", "md")
    assert done.exit_code == 3
    assert "The result is kept" in done.stdout
    assert json.loads((out / "ann" / "report.json").read_text())["score"] == FAILED.score


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "md=x.md"], "leave out =x.md"),
        (["--format", "md=-"], "leave out =-"),
        (["--format", "json", "--audience", "student"], "always the instructor's"),
        (["--format", "pdf"], "There is no format pdf"),
        (["--format", "canvas"], "--canvas EXPORTED.csv"),
        (["--json", "x.json"], "--json is for one submission"),
    ],
)
def test_what_a_class_cannot_have_is_refused_before_anything_is_graded(
    arguments: list[str], sentence: str, hand_ins: Path, tmp_path: Path
) -> None:
    done = grader_check(hand_ins, "--out", tmp_path / "out", *arguments)
    assert (done.exit_code, Stub.graded) == (2, 0)
    assert sentence in done.stderr


def test_what_moodle_shows_to_students_gives_no_hidden_case_away(hand_ins: Path, tmp_path: Path) -> None:
    worksheet = tmp_path / "grades.csv"
    worksheet.write_text(
        "Identifier,Full name,Email address,Grade,Maximum Grade,Last modified (grade),Feedback comments\n"
        "Participant 1,ann,ann@example.org,,100,-,\n"
    )
    out = tmp_path / "out"
    done = grader_check(hand_ins, "--out", out, "--moodle", worksheet)
    assert done.exit_code == 0, done.output
    filled = (out / "moodle.csv").read_text(encoding="utf-8")
    assert "The size is …" in filled
    assert "31337" not in filled
