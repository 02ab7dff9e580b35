"""What a student's report tells, and that nothing of a hidden case is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercises.contract import Case
from grader.judge.compare import RankVerdict
from grader.judge.verdict import CaseVerdict
from grader.report.audience import for_audience
from grader.report.formats import FORMATS, rendered
from grader.report.masked import Allowed, masked
from grader.report.schema import (
    CaseRow,
    CheckPart,
    DifferenceRow,
    ExercisePart,
    FindingRow,
    OutputRow,
    RankRow,
    Report,
    SpanRow,
    TheoryRow,
    TimelineRow,
    WorkRow,
)
from tests.report.made import Submission, all_passed, instead, report_on, verdict

HANDOUT: dict[str, Any] = {"seed": 42, "sizes": {"n": 3}, "arguments": {"steps": 2}}
#: Numbers that no report has for another reason (points, ranks, lines, the handout's).
HIDDEN = st.integers(1_000, 2**31 - 1)
WORDINGS: list[Callable[[int], str]] = [
    lambda n: f"{n}",
    lambda n: f"shape [{n}, {n}] and ({n}x{n})",
    lambda n: f"rank {n}, ranks 0 and {n}, line {n}, world size {n}, {n} ranks; {n} is the world size",
    lambda n: f"x{n} n_{n}_ {n}th {n / 7:.3f} {n:,} {-n} {n}%",
    lambda n: f"{hex(n)} {n:b} {n / 3:e}",
    lambda n: "".join(chr(0x0660 + int(digit)) for digit in str(n)),  # Arabic digits
    lambda n: f"tiny.py:{n}",
]


def numbers_in(value: object) -> set[int]:
    """Whole numbers in JSON, and in its texts however they are written."""
    if isinstance(value, dict):
        named = {key: part for key, part in value.items() if key != "sha256"}  # no number of a case
        return {n for pair in named.items() for part in pair for n in numbers_in(part)}
    if isinstance(value, list):
        return {n for part in value for n in numbers_in(part)}
    if isinstance(value, str):
        written = {int(digits) for digits in re.findall(r"\d+", value.replace(",", ""))}
        return written | {int(digits, 16) for digits in re.findall(r"0x([0-9a-f]+)", value)}
    return {int(value)} if isinstance(value, int | float) else set()


def case(text: str, number: int, **numbers: Any) -> CaseRow:
    """A failed case on two ranks with everything that a case can have: ``text`` and ``number``."""
    given = {"seed": number, "sizes": {"n": number}, "arguments": {"steps": number}} | numbers
    return CaseRow(
        **given,
        world_size=2,
        status="failed",
        detail=text,
        whole_ranks=(0,),
        rows=((number,),),
        ranks=(RankRow(rank=0, status="failed", match=False, max_diff=number, mean_diff=number),),
        work=(WorkRow(rank=0, flops=number, gradient_rows=(number,), collectives=((text, (number,)),)),),
        theory=(TheoryRow(rank=0, flops=number, bytes=number),),
        differences=(DifferenceRow(rank=0, name=text, shape=(number,), grid=((number,),)),),
        timeline=(
            TimelineRow(
                rank=0,
                begin=0,
                end=number,
                spans=(SpanRow(name=text, begin=0, end=number, bytes=number, file=text, line=number),),
            ),
        ),
    )


def secret_report(text: str, number: int) -> Report:
    """A report with hidden cases of `hidden` and `input_gradient`, and ``text`` wherever they leave some."""
    report = report_on(all_passed())
    usual = case("public", 7, **HANDOUT)
    ranks = (RankRow(rank=0, status="failed", match=False, max_diff=0.5, mean_diff=0.25),)
    usual = usual.model_copy(update={"ranks": ranks})
    cases = {
        "baseline": (usual,),
        "hidden": (case(text, number), case(text, number)),
        "input_gradient": (usual, case(text, number)),
    }
    part = ExercisePart(
        name="first",
        title="Part 1: first",
        status="failed",
        score=0,
        max_score=3,
        checks=tuple(
            CheckPart(name=name, status="failed", score=0, max_score=1, cases=rows)
            for name, rows in cases.items()
        ),
        findings=tuple(
            FindingRow(
                code="exception", message=text, check=name, ranks=(0,), file=file, line=5, source=lines
            )
            for name, file, lines in (
                ("hidden", "tiny.py", ((5, "n = 54"),)),
                ("input_gradient", text, ((5, text),)),
            )
        ),
        output=(OutputRow(rank=0, text=text, check="hidden", case=0),),
    )
    return report.model_copy(
        update={
            "exercises": (part,),
            "seed": number,
            "command": f"grader check ada.zip --seed {number} {text}",
            "notes": (text,),
        }
    )


@given(HIDDEN, st.sampled_from(WORDINGS), st.text(max_size=20), st.text(max_size=20))
def test_no_hidden_number_is_in_a_students_report_whatever_the_sentence(
    number: int, wording: Callable[[int], str], before: str, behind: str
) -> None:
    report = secret_report(f"{before} {wording(number)} {behind}", number)
    assert number in numbers_in(json.loads(report.to_json()))  # there is something to find
    student = for_audience(report, "student")
    assert not {number, number // 7} & numbers_in(json.loads(student.to_json()))
    assert Report.from_json(student.to_json()) == student
    assert for_audience(student, "student") == student


@pytest.mark.parametrize("name", FORMATS)
def test_no_hidden_number_is_in_any_format(name: str) -> None:
    report = secret_report("With n = 31337 the shapes are (31337x2) and [31337].", 31337)
    assert "31337" not in rendered(report, FORMATS[name], "student")


def test_the_lines_of_a_file_that_was_handed_in_are_quoted_as_they_are() -> None:
    own, other = for_audience(secret_report("31337", 31337), "student").exercises[0].findings
    assert own.source == ((5, "n = 54"),)
    assert other.source == ()


@pytest.mark.parametrize("status", ["passed", "failed"])
def test_a_whole_file_that_passed_behind_hidden_cases_tells_no_number_of_its_choice(status: str) -> None:
    (part,) = secret_report("x", 31337).exercises
    row = case("x", 31337, **HANDOUT).model_copy(update={"status": status, "work": (), "theory": ()})
    row = row.model_copy(update={"differences": (), "rows": (), "detail": ""})
    script = CheckPart(name="script", status=status, score=0, max_score=1, cases=(row,))
    part = part.model_copy(update={"checks": (script,), "findings": (), "output": ()})
    report = report_on(all_passed()).model_copy(update={"exercises": (part,)})
    told = for_audience(report, "student").exercises[0].model_dump_json()
    assert ("31337" in told) == (status == "failed")  # which was asked again, by itself


def test_an_instructor_gets_the_report_as_it_is() -> None:
    report = secret_report("31337", 31337)
    assert for_audience(report, "instructor") is report


def test_the_handouts_case_stays_whole_and_of_hidden_ones_stays_how_they_went() -> None:
    report = secret_report("31337", 31337)
    baseline, hidden, gradient = for_audience(report, "student").exercises[0].checks
    assert baseline == report.exercises[0].checks[0]
    assert gradient.cases[0] == report.exercises[0].checks[2].cases[0]
    for row in (*hidden.cases, gradient.cases[1]):
        assert (row.seed, row.sizes, row.arguments, row.world_size, row.status) == (None, {}, {}, 2, "failed")
        assert not (row.work or row.theory or row.differences or row.timeline or row.rows or row.whole_ranks)
        assert [(rank.status, rank.match, rank.max_diff) for rank in row.ranks] == [("failed", False, None)]


def test_a_case_of_the_handouts_seed_at_other_sizes_is_hidden() -> None:
    report = secret_report("x", 31337)
    (part,) = report.exercises
    other = case("x", 31337, seed=42)
    checks = (*part.checks[:2], part.checks[2].model_copy(update={"cases": (other,)}))
    report = report.model_copy(update={"exercises": (part.model_copy(update={"checks": checks}),)})
    assert for_audience(report, "student").exercises[0].checks[2].cases[0].seed is None


def test_points_statuses_and_what_was_handed_in_stay() -> None:
    report = report_on(
        instead(verdict("first", "hidden", "failed", 1)), submission=Submission(name="ada 2024")
    )
    student = for_audience(report, "student")
    assert (student.score, student.status, student.submission) == (
        report.score,
        report.status,
        report.submission,
    )
    assert [(p.status, p.score) for p in student.exercises] == [(p.status, p.score) for p in report.exercises]


def test_the_sentence_of_a_public_finding_is_whole_and_a_hidden_one_keeps_its_explanation() -> None:
    message = "Rank 0 is in all_reduce at line 12, rank 1 sends [30, 54] float32: 0.25 of them are off."
    report = report_on(
        instead(
            verdict("first", "baseline", "failed", 42, message=message),
            verdict("first", "hidden", "failed", 1, message=message),
        )
    )
    public, hidden = for_audience(report, "student").exercises[0].findings
    assert public.message == message
    assert hidden.message == "Rank 0 is in all_reduce at line 12, rank … sends […] …: … of them are off."
    assert (hidden.code, hidden.file, hidden.line, hidden.ranks) == ("no-update", "tiny.py", 12, (0,))


def test_a_finding_of_the_handouts_case_is_whole_where_the_hidden_one_passed() -> None:
    right = RankVerdict(0, "passed", True, 0.0, 0.0)
    wrong = verdict("first", "baseline", "failed", 42, message="7 of 9 are off.")
    report = report_on(
        instead(wrong, CaseVerdict(Case("first", "hidden", 1, 1, {"n": 8}), "passed", (right,)))
    )
    assert for_audience(report, "student").exercises[0].findings[0].message == "7 of 9 are off."


@pytest.mark.parametrize(
    ("check", "seed", "alone", "shown"),
    [("baseline", 42, True, True), ("baseline", 42, False, False), ("hidden", 1, True, False)],
)
def test_output_is_shown_where_only_the_handouts_case_can_have_printed_it(
    check: str, seed: int, alone: bool, shown: bool
) -> None:
    wrong = verdict("first", check, "failed", seed, output=((0, "seed 1"),), alone=alone)
    report = report_on(instead(wrong))
    assert report.exercises[0].output
    assert bool(for_audience(report, "student").exercises[0].output) is shown


def test_notes_keep_the_names_of_files() -> None:
    report = report_on(all_passed(), submission=Submission(files=("work/tiny2.py",)))
    report = report.model_copy(update={"notes": ("tiny2.py is taken for tiny.py; the seed is 99.",)})
    assert for_audience(report, "student").notes == ("tiny2.py is taken for tiny.py; the seed is ….",)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ranks 0, 1 and 3 wait at line 92", "ranks 0, 1 and 3 wait at line 92"),
        ("ranks 0 and 54", "ranks 0 and …"),
        ("rank 3.54", "rank …"),
        ("at lines 92 and 93", "at lines 92 and …"),
        ("on 2 ranks, 4 is the world size, 54 ranks", "on 2 ranks, 4 is the world size, … ranks"),
        ("(30x54 and 54x22)", "(… and …)"),
        ("[30, 54]", "[…]"),
        ("1.5e-03 x² ½ 四 W0", "… … … … …"),
        ("nothing", "nothing"),
    ],
)
def test_only_numbers_that_are_told_anyway_stay_and_only_in_their_place(text: str, left: str) -> None:
    assert masked(text, Allowed(ranks=range(4), lines={92}, world_sizes={1, 2, 4})) == left
