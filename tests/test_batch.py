"""What of a class is graded, kept, asked again, and what is there after a run that was interrupted."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.batch import ClassRun, Finished
from grader.evidence import Evidence
from grader.intake import IntakeError
from grader.intake.attempts import HandIn
from grader.report.schema import Report
from grader.results import Refused, Results, hash_of_hand_in
from grader.run.sandbox import SandboxError
from tests.report.made import all_passed, instead, report_on, verdict

ASKED = {"first": "a1", "second": "b1"}
POINTS = {"first": {"baseline": 10.0, "hidden": 30.0}, "second": {"baseline": 20.0, "hidden": 40.0}}


class Class:
    """Hand-ins on the disk, results beside them, and a stand-in for the grader that notes what it hears."""

    def __init__(self, folder: Path, *students: str) -> None:
        self.folder, self.results = folder, Results(folder / "results")
        self.graded: list[tuple[str, tuple[str, ...]]] = []
        self.answer: Callable[[str, tuple[str, ...]], Report] = lambda student, only: report_on(
            [case for case in all_passed() if not only or case.case.exercise in only], only=only or None
        )
        for student in students:
            self.hand_in(student, "first attempt")

    def hand_in(self, student: str, text: str) -> None:
        (self.folder / f"{student}.py").write_text(text)

    def run(
        self, asked: dict[str, str] = ASKED, points: object = POINTS, force: bool = False
    ) -> list[Finished]:
        self.graded.clear()

        def grade(hand_in: HandIn, only: tuple[str, ...]) -> Report:
            self.graded.append((hand_in.student, only))
            return self.answer(hand_in.student, only)

        made = ClassRun(grade, self.results, asked, points, json.dumps(points), force)  # type: ignore[arg-type]
        hand_ins = [HandIn(path.stem, path, 0, path.name) for path in sorted(self.folder.glob("*.py"))]
        return made.run(hand_ins, 2, lambda one: None)


@pytest.fixture
def three(tmp_path: Path) -> Class:
    return Class(tmp_path, "ann", "bob", "cy")


def test_each_is_graded_once_and_then_kept(three: Class) -> None:
    assert [(one.student, one.how, one.score) for one in three.run()] == [
        (student, "graded", 100) for student in ("ann", "bob", "cy")
    ]
    assert [one.how for one in three.run()] == ["kept"] * 3
    assert three.graded == []


def test_another_hand_in_is_graded_and_the_others_are_kept(three: Class) -> None:
    three.run()
    three.hand_in("bob", "second attempt")
    assert [one.how for one in three.run()] == ["kept", "graded", "kept"]


def test_force_grades_all_again(three: Class) -> None:
    three.run()
    assert [one.how for one in three.run(force=True)] == ["graded"] * 3


def test_other_points_are_scored_from_the_verdicts_that_are_there(three: Class) -> None:
    three.run()
    halved = {name: {check: worth / 2 for check, worth in part.items()} for name, part in POINTS.items()}
    assert [(one.how, one.score, one.max_score) for one in three.run(points=halved)] == [
        ("re-scored", 50, 50)
    ] * 3
    assert three.graded == []
    assert [one.how for one in three.run(points=halved)] == ["kept"] * 3


def test_points_for_a_log_come_and_go_without_grading_again(three: Class) -> None:
    log = Evidence(("run.log",), (), complete=True)
    three.answer = lambda student, only: report_on(all_passed(), evidence=log if student == "ann" else None)
    three.run()
    finished = three.run(points={**POINTS, "evidence": {"complete_log": 5.0}})
    assert three.graded == []
    assert [(one.how, one.score, one.max_score) for one in finished] == [
        ("re-scored", 105, 105),
        ("re-scored", 100, 105),
        ("re-scored", 100, 105),
    ]
    assert [(one.how, one.score, one.max_score) for one in three.run()] == [("re-scored", 100, 100)] * 3


def test_another_log_beside_the_same_code_is_another_hand_in(tmp_path: Path) -> None:
    (tmp_path / "assignment4.py").write_text("")
    hashes = {hash_of_hand_in(tmp_path)}
    for text in ("one run", "another run"):
        (tmp_path / "run.log").write_text(text)
        hashes.add(hash_of_hand_in(tmp_path))
    assert len(hashes) == 3


def test_only_the_exercise_that_is_asked_otherwise_is_asked_again(three: Class) -> None:
    wrong = instead(verdict("first", "hidden", "failed", seed=2))
    three.answer = lambda student, only: report_on(wrong)
    assert {one.score for one in three.run()} == {70}
    three.answer = lambda student, only: report_on(
        [case for case in wrong if case.case.exercise == "second"], only=only
    )
    finished = three.run(asked={**ASKED, "second": "b2"})
    assert three.graded and {only for _, only in three.graded} == {("second",)}
    assert {(one.how, one.score) for one in finished} == {("graded", 70)}
    assert [one.how for one in three.run(asked={**ASKED, "second": "b2"})] == ["kept"] * 3


def test_a_failure_of_the_grader_is_not_kept(three: Class) -> None:
    three.answer = lambda student, only: report_on(instead(verdict("first", "baseline", "error", seed=42)))
    assert {one.status for one in three.run()} == {"error"}
    assert [one.how for one in three.run()] == ["graded"] * 3


def test_one_that_cannot_be_graded_stops_none_of_the_others(three: Class) -> None:
    usual = three.answer

    def refuse_bob(student: str, only: tuple[str, ...]) -> Report:
        if student == "bob":
            raise IntakeError("It is empty.", "So.", "Hand it in again.")
        return usual(student, only)

    three.answer = refuse_bob
    finished = three.run()
    assert [one.status for one in finished] == ["passed", "refused", "passed"]
    assert (finished[1].score, finished[1].max_score) == (0, 100)
    stored = three.results.load("bob")
    assert stored is not None and stored.outcome == Refused("It is empty. So. Hand it in again.")
    assert [one.how for one in three.run()] == ["kept"] * 3


@pytest.mark.parametrize("failure", [OSError("no space left"), ValueError("no space left")])
def test_an_unexpected_failure_is_told_and_stops_none_of_the_others(three: Class, failure: Exception) -> None:
    usual = three.answer

    def fail_on_bob(student: str, only: tuple[str, ...]) -> Report:
        if student == "bob":
            raise failure
        return usual(student, only)

    three.answer = fail_on_bob
    finished = three.run()
    assert [one.status for one in finished] == ["passed", "error", "passed"]
    assert "no space left" in finished[1].sentence
    assert three.results.load("bob") is None


def test_what_was_interrupted_is_not_kept_and_the_rest_is(tmp_path: Path) -> None:
    made = Class(tmp_path, "ann", "bob")
    usual, bob_may_end = made.answer, threading.Event()

    def interrupt(student: str, only: tuple[str, ...]) -> Report:
        if student == "bob":
            bob_may_end.wait(60)
        return usual(student, only)

    made.answer = interrupt
    hand_ins = [HandIn(path.stem, path, 0, path.name) for path in sorted(tmp_path.glob("*.py"))]
    run = ClassRun(lambda hand_in, only: interrupt(hand_in.student, only), made.results, ASKED, POINTS, "p")

    def stop(one: Finished) -> None:
        threading.Timer(0.2, bob_may_end.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run(hand_ins, 2, stop)
    assert made.results.load("ann") is not None
    assert made.results.load("bob") is None


def test_a_sandbox_that_cannot_be_made_stops_the_class(three: Class) -> None:
    def fail(student: str, only: tuple[str, ...]) -> Report:
        raise SandboxError("bubblewrap is not installed")

    three.answer = fail
    with pytest.raises(SandboxError):
        three.run()


@pytest.mark.parametrize("damage", ["", "{", '{"basis": 1}', "[]"])
def test_a_result_that_is_damaged_is_graded_again(three: Class, damage: str) -> None:
    three.run()
    (three.results.place("bob") / "result.json").write_text(damage)
    assert [one.how for one in three.run()] == ["kept", "graded", "kept"]


def test_a_report_that_is_not_the_one_that_was_kept_is_graded_again(three: Class) -> None:
    three.run()
    path = three.results.place("bob") / "report.json"
    path.write_text(path.read_text().replace('"score": 100', '"score": 99'))
    assert [one.how for one in three.run()] == ["kept", "graded", "kept"]


@pytest.mark.parametrize(
    "student", ["..", ".", "", "a/b", "../../etc", "gradebook.csv", "x" * 300, "é", "A\x1b[2J", "con:", " "]
)
def test_no_name_leads_out_of_the_results(tmp_path: Path, student: str) -> None:
    place = Results(tmp_path).place(student)
    assert place.parent == tmp_path
    assert place.name not in ("", ".", "..", "gradebook.csv", "class.json") and place.name.isprintable()
    assert place != Results(tmp_path).place(student + "_")


def test_the_seed_of_a_class_stays(tmp_path: Path) -> None:
    assert Results(tmp_path).seed(5) == 5
    assert Results(tmp_path).seed(6) == 5
    Results(tmp_path).set_seed(7)
    assert Results(tmp_path).seed(8) == 7


def test_a_result_is_its_own_students_only(tmp_path: Path) -> None:
    made = Class(tmp_path, "José")
    made.run()
    place = made.results.place("José")
    assert made.results.place(place.name) != place
    assert made.results.place("J\udce9") != made.results.place("J\udce8")
    (tmp_path / "results" / "bob").mkdir()
    for file in place.iterdir():
        (tmp_path / "results" / "bob" / file.name).write_bytes(file.read_bytes())
    assert made.results.load("bob") is None
    assert [one.student for one in made.results.others(())] == ["José"]


def test_an_exercise_that_is_new_is_graded_and_so_are_the_others(three: Class) -> None:
    only_first = [case for case in all_passed() if case.case.exercise == "first"]
    three.answer = lambda student, only: report_on(only_first)
    three.run(asked={"first": "a1"}, points={"first": POINTS["first"]})
    three.answer = lambda student, only: report_on(all_passed())
    finished = three.run()
    assert {only for _, only in three.graded} == {()}
    assert {(one.how, one.score, one.max_score) for one in finished} == {("graded", 100, 100)}


def test_a_check_that_the_verdicts_do_not_have_is_asked(three: Class) -> None:
    three.run()
    more = {**POINTS, "first": {**POINTS["first"], "own_share": 5.0}}
    fewer = {"first": POINTS["first"]}
    assert [one.how for one in three.run(points=fewer)] == ["graded"] * 3
    assert [one.status for one in three.run(points=more)] == ["passed"] * 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda note: note["basis"].update(asked=["a1"]),
        lambda note: note["basis"].update(asked={"first": 1}),
        lambda note: note.update(student="bob "),
        lambda note: note.update(refused=None),
        lambda note: note.pop("notes"),
    ],
)
def test_a_result_that_somebody_changed_is_graded_again(three: Class, spoil: Callable[[Any], object]) -> None:
    three.answer = lambda student, only: _refuse() if student == "bob" else report_on(all_passed())
    three.run()
    path = three.results.place("bob") / "result.json"
    note = json.loads(path.read_text())
    spoil(note)
    path.write_text(json.dumps(note))
    assert [one.how for one in three.run()] == ["kept", "graded", "kept"]


def _refuse() -> Report:
    raise IntakeError("It is empty.", "So.", "Hand it in again.")


@pytest.mark.parametrize("name", ["result.json", ".x.partial", "report.json"])
def test_a_folder_in_the_place_of_a_file_costs_no_other_student(three: Class, name: str) -> None:
    three.run()
    bob = three.results.place("bob")
    for file in bob.iterdir():
        file.unlink()
    (bob / name).mkdir()
    assert [one.status for one in three.run()][::2] == ["passed", "passed"]


def test_json_without_end_is_no_result(three: Class) -> None:
    three.run()
    (three.results.place("bob") / "result.json").write_text("[" * 200_000)
    (three.results.folder / "class.json").write_text('{"seed": Infinity}')
    assert [one.how for one in three.run()] == ["kept", "graded", "kept"]
    assert three.results.seed(4) == 4


def test_a_link_in_the_results_is_not_followed(three: Class, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    three.results.folder.mkdir()
    three.results.place("bob").symlink_to(elsewhere)
    finished = three.run()
    assert [one.status for one in finished] == ["passed", "error", "passed"] and not finished[1].kept
    assert list(elsewhere.iterdir()) == []


def test_the_report_of_an_earlier_hand_in_does_not_stay_beside_a_refusal(three: Class) -> None:
    three.run()
    three.hand_in("bob", "second attempt")
    three.answer = lambda student, only: _refuse()
    three.run()
    assert [file.name for file in three.results.place("bob").iterdir()] == ["result.json"]


def test_what_could_not_be_read_when_the_class_was_looked_through_is_refused(three: Class) -> None:
    run = ClassRun(lambda hand_in, only: report_on(all_passed()), three.results, ASKED, POINTS, "p")
    hand_ins = [
        HandIn("ann", three.folder / "ann.py", 0, "ann.py"),
        HandIn("bob", three.folder / "nowhere", 0, "bob.py", refused="It is a link."),
        HandIn("cy", three.folder / "gone.py", 0, "cy.py", notes=("Of 2 attempts the newest was graded.",)),
    ]
    ann, bob, cy = run.run(hand_ins, 2, lambda one: None)
    assert (ann.status, bob.status, cy.status) == ("passed", "refused", "refused")
    assert bob.sentence == "It is a link." and "cannot be read" in cy.sentence
    stored = three.results.load("cy")
    assert stored is not None and isinstance(stored.outcome, Refused)
    assert stored.outcome.notes == ("Of 2 attempts the newest was graded.",)


def test_the_hash_of_a_hand_in_knows_all_that_the_intake_looks_at(tmp_path: Path) -> None:
    folder, hashes = tmp_path / "ann", []
    folder.mkdir()
    changes: list[Callable[[], object]] = [
        lambda: (folder / "a.py").write_text("1"),
        lambda: (folder / "a.py").rename(folder / "b.py"),
        lambda: (folder / "empty").mkdir(),
        lambda: (folder / "link").symlink_to("/tmp"),
        lambda: (folder / "link").unlink(),
        lambda: (folder / "empty" / "b.py").write_text("2"),
        lambda: folder.rename(tmp_path / "bob"),
    ]
    for change in changes:
        change()
        hashes.append(hash_of_hand_in(folder if folder.exists() else tmp_path / "bob"))
    assert hashes[4] == hashes[2]  # the link was taken away again
    assert len(set(hashes)) == len(hashes) - 1
    (tmp_path / "cy").symlink_to(tmp_path / "bob")
    before = hash_of_hand_in(tmp_path / "cy")
    (tmp_path / "bob" / "b.py").write_text("3")
    assert hash_of_hand_in(tmp_path / "cy") != before


def test_when_a_run_is_stopped_what_is_being_graded_is_given_up(tmp_path: Path) -> None:
    made, given_up = Class(tmp_path, "ann", "bob"), threading.Event()

    def grade(hand_in: HandIn, only: tuple[str, ...]) -> Report:
        if hand_in.student == "bob":
            assert given_up.wait(60)
        return report_on(all_passed())

    def stop(one: Finished) -> None:
        raise KeyboardInterrupt

    run = ClassRun(grade, made.results, ASKED, POINTS, "p", give_up=given_up.set)
    hand_ins = [HandIn(path.stem, path, 0, path.name) for path in sorted(tmp_path.glob("*.py"))]
    with pytest.raises(KeyboardInterrupt):
        run.run(hand_ins, 2, stop)
    assert given_up.is_set() and list(run.done) == ["ann"]


def test_every_report_has_a_page_and_a_refused_hand_in_has_none(three: Class) -> None:
    def answer(student: str, only: tuple[str, ...]) -> Report:
        if student == "bob":
            raise IntakeError("There is nothing in it.")
        return report_on(all_passed())

    three.answer = answer
    three.run()
    assert (three.results.folder / three.results.page("ann")).read_text().startswith("<!doctype html>")
    assert three.results.page("bob") == ""


def test_a_page_is_that_of_the_latest_result(three: Class) -> None:
    three.run()
    three.hand_in("ann", "second attempt")
    three.answer = lambda student, only: report_on(instead(verdict("first", "baseline", "failed")))
    three.run()
    ann, bob = ((three.results.folder / three.results.page(name)).read_text() for name in ("ann", "bob"))
    assert "No update" in ann and "No update" not in bob


def test_a_page_that_is_missing_is_made_when_the_run_is_taken_up_again(three: Class) -> None:
    three.run()
    (three.results.folder / three.results.page("ann")).unlink()
    assert three.results.page("ann") == ""
    assert {one.how for one in three.run()} == {"kept"}
    assert three.results.page("ann") == "ann/report.html"


def test_no_result_is_lost_for_the_want_of_a_page(three: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("no such picture")

    monkeypatch.setattr("grader.results.render_html", fail)
    finished = three.run()
    assert all(one.status == "passed" and one.kept for one in finished)
    assert "report.html could not be made" in finished[0].notes[0]
    assert [one.how for one in three.run()] == ["kept"] * 3
