from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.exercises.assignment4 import LAB
from grader.intake import IntakeLimits
from grader.job import Limits
from grader.rubric import MUST_DIVIDE, Rubric, load_rubric
from grader.rubric_check import check_rubric
from grader.rubric_errors import RubricError

SHIPPED = Path(__file__).parents[1] / "reference" / "rubric.toml"
SMALLEST = 'title = "T"\nlab = "assignment4"\n[exercises.script.points]\nscript = 1\n'


def problems(folder: Path, text: str) -> dict[str, str]:
    path = folder / "rubric.toml"
    path.write_text(text)
    with pytest.raises(RubricError) as caught:
        load_rubric(path)
    assert all(line.startswith(f"{path}: ") for line in str(caught.value).splitlines())
    assert len(str(caught.value).splitlines()) == len(caught.value.problems)
    return dict(caught.value.problems)


def smallest_with(folder: Path, text: str) -> Rubric:
    path = folder / "rubric.toml"
    path.write_text(SMALLEST + text)
    return load_rubric(path)


def test_the_shipped_rubric_gives_the_documented_points_and_fits_its_lab():
    rubric = load_rubric(SHIPPED)
    check_rubric(rubric, LAB, SHIPPED)
    assert rubric.max_score == 100
    assert {name: exercise.max_score for name, exercise in rubric.exercises.items()} == {
        "script": 10, "single_step": 10, "grad_accumulation": 15, "data_parallel": 15,
        "column_parallel": 20, "row_parallel": 15, "pipeline": 15,
    }  # fmt: skip
    for name, exercise in rubric.exercises.items():
        if name != "script":
            assert exercise.points["baseline"] >= exercise.points["hidden"] > 0


def test_the_shipped_limits_are_the_documented_defaults(tmp_path):
    assert load_rubric(SHIPPED).limits == smallest_with(tmp_path, "").limits
    assert load_rubric(SHIPPED).limits.for_job() == Limits()
    assert load_rubric(SHIPPED).intake.for_intake() == IntakeLimits()


def test_the_shipped_hidden_cases_are_neither_square_nor_powers_of_two_nor_alike():
    hidden = load_rubric(SHIPPED).hidden
    assert [case.world_size for case in hidden] == [1, 2, 4]
    for case in hidden:
        sizes = case.sizes
        assert len({sizes["global_batch_size"], sizes["input_dim"], sizes["output_dim"]}) == 3
        assert all(size & (size - 1) for size in sizes.values())
    assert len({value for case in hidden for value in case.sizes.values()}) == 12


def test_limits_that_are_not_given_keep_their_defaults(tmp_path):
    rubric = smallest_with(tmp_path, "[limits]\nseconds = 3\n[intake]\nfiles = 5\n")
    assert rubric.limits.for_job() == Limits(seconds=3)
    assert rubric.intake.for_intake() == IntakeLimits(files=5)
    assert rubric.baseline.world_size == 4 and rubric.tolerance == 1e-5


def test_a_log_is_worth_nothing_unless_the_rubric_says_so(tmp_path):
    assert load_rubric(SHIPPED).worth.keys() == load_rubric(SHIPPED).exercises.keys()
    assert smallest_with(tmp_path, "").evidence.points == 0
    rubric = smallest_with(tmp_path, "[evidence]\npoints = 5\n")
    assert rubric.worth == {"script": {"script": 1}, "evidence": {"complete_log": 5}}
    assert rubric.max_score == 6
    found = problems(tmp_path, SMALLEST.replace("script = 1", "script = 0") + "[evidence]\npoints = 5\n")
    assert found == {"": "No exercise has points, so nothing can be earned."}
    assert "evidence.points" in problems(tmp_path, SMALLEST + "[evidence]\npoints = -1\n")


def test_points_for_a_log_need_a_driver_that_prints(tmp_path):
    path = tmp_path / "rubric.toml"
    path.write_text(SHIPPED.read_text().replace("[evidence]\npoints = 0", "[evidence]\npoints = 5"))
    rubric = load_rubric(path)
    check_rubric(rubric, LAB, path)
    silent = replace(LAB, exercises=tuple(replace(part, printed=None) for part in LAB.exercises))
    with pytest.raises(RubricError, match=r"evidence\.points: The driver of assignment4 prints nothing"):
        check_rubric(rubric, silent, path)


def test_an_unknown_key_is_refused_by_its_dotted_name_with_the_likeliest_one_beside_it(tmp_path):
    found = problems(
        tmp_path, SMALLEST + "[limits]\nsecond = 3\n[intake]\nspeed = 1\n[exercises.a]\npoint = 1\n"
    )
    assert found["limits.second"] == "No such key is known here. Did you mean seconds?"
    assert "archive_mb" in found["intake.speed"]
    assert "Did you mean points?" in found["exercises.a.point"]
    assert found["exercises.a.points"] == "This key is needed and is not there."


@pytest.mark.parametrize(
    ("text", "key", "sentence"),
    [
        ("[limits]\nseconds = -1", "limits.seconds", "It must be greater than 0.0, and is -1."),
        ("[limits]\nseconds = inf", "limits.seconds", "It must be a finite number, and is inf."),
        ("[limits]\nmemory_mb = 1.5", "limits.memory_mb", "It must be a whole number, and is 1.5."),
        ("[limits]\nmemory_mb = true", "limits.memory_mb", "It must be a whole number, and is True."),
        (
            "[exercises.a.points]\nhidden = '3'",
            "exercises.a.points.hidden",
            "It must be a number, and is '3'.",
        ),
        (
            "[exercises.a.points]\nhidden = -3",
            "exercises.a.points.hidden",
            "It must be at least 0.0, and is -3.",
        ),
        ("[exercises.a]\npoints = 3", "exercises.a.points", "It must be a table, and is 3."),
        ("[hidden]\nworld_size = 4", "hidden", "It must be an array of tables"),
        (
            "[exercises.a.points]\nbasline = 3",
            "exercises.a.points.basline",
            "It must be one of 'baseline'",
        ),
        ("[exercises.a.points]", "exercises.a.points", "At least one check needs points"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_in_a_sentence(tmp_path, text, key, sentence):
    found = problems(tmp_path, SMALLEST + text)
    assert list(found) == [key]
    assert found[key].startswith(sentence) and found[key].endswith(".")


@pytest.mark.parametrize(("whole", "divisor"), MUST_DIVIDE)
def test_a_hidden_case_that_does_not_divide_is_refused_with_both_numbers(tmp_path, whole, divisor):
    sizes = {"global_batch_size": 24, "input_dim": 12, "output_dim": 12, "num_layers": 12, whole: 25}
    arguments = {"accumulation_steps": 1, "num_micro_batches": 1}
    if divisor != "world_size":
        arguments[divisor] = 2
    tables = (
        " { " + ", ".join(f"{k} = {v}" for k, v in table.items()) + " }" for table in (sizes, arguments)
    )
    world_size = 2 if divisor == "world_size" else 1
    entry = "\n[[hidden]]\nworld_size = {}\nsizes ={}\narguments ={}\n".format(world_size, *tables)
    found = problems(tmp_path, SMALLEST + entry)
    assert found["hidden[1]"].startswith(f"{whole} = 25 cannot be divided by {divisor} = 2")


@pytest.mark.parametrize("text", ["title = 'x\n", "a = 1\na = 2\n", "title = \x01"])
def test_what_is_not_toml_is_refused_with_the_place(tmp_path, text):
    assert "This is not TOML" in problems(tmp_path, text)[""]
    assert "(at " in problems(tmp_path, text)[""]


def test_a_missing_file_and_one_in_another_encoding_are_refused(tmp_path):
    with pytest.raises(RubricError, match="cannot be read: No such file"):
        load_rubric(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(RubricError, match="save it as UTF-8"):
        load_rubric(tmp_path / "latin.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "rubric.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())
    assert load_rubric(path).max_score == 1


def test_points_for_hidden_cases_need_a_hidden_case_and_a_rubric_needs_points(tmp_path):
    assert "no [[hidden]] entry" in problems(tmp_path, SMALLEST + "[exercises.a.points]\nhidden = 1")[""]
    assert "nothing can be earned" in problems(tmp_path, SMALLEST.replace("script = 1", "script = 0"))[""]


def test_names_that_the_lab_does_not_have_are_refused(tmp_path):
    path = tmp_path / "rubric.toml"
    text = SHIPPED.read_text().replace("exercises.pipeline", "exercises.pipelines")
    text = text.replace("input_dim = 42", "inputs = 42").replace("num_micro_batches = 5", "micro_batches = 5")
    text = text.replace("[exercises.single_step.points]\nbaseline", "[exercises.single_step.points]\nscript")
    text = text.replace(
        "[exercises.data_parallel.points]", "[exercises.data_parallel.points]\ninput_gradient = 1"
    )
    text = text.replace('lab = "assignment4"', 'lab = "assignment5"').replace(
        "world_size = 4", "world_size = 3", 1
    )
    path.write_text(text)
    with pytest.raises(RubricError) as caught:
        check_rubric(load_rubric(path), LAB, path)
    assert [key for key, _ in caught.value.problems] == [
        "lab",
        "exercises.pipelines",
        "exercises.single_step.points.script",
        "exercises.data_parallel.points.input_gradient",
        "exercises",
        "baseline.world_size",
        "hidden[1].sizes.input_dim",
        "hidden[1].sizes.inputs",
        "hidden[1].arguments.num_micro_batches",
        "hidden[1].arguments.micro_batches",
    ]


def test_a_check_that_cannot_be_made_of_an_exercise_is_refused_with_those_that_can(tmp_path):
    path = tmp_path / "rubric.toml"
    for name, points, can in (
        ("script", "hidden = 1", "only script"),
        ("single_step", "own_share = 1", "only baseline, hidden."),
        ("pipeline", "input_gradient = 1", "only baseline, hidden, own_share."),
        ("row_parallel", "script = 1", "only baseline, hidden, input_gradient, own_share."),
    ):
        header = f"[exercises.{name}.points]"
        path.write_text(SHIPPED.read_text().replace(header, f"{header}\n{points}"))
        with pytest.raises(RubricError) as caught:
            check_rubric(load_rubric(path), LAB, path)
        ((key, sentence),) = caught.value.problems
        assert key == f"exercises.{name}.points.{points.split()[0]}"
        assert can in sentence


def test_reading_a_rubric_does_not_import_torch():
    modules = "grader.cases, grader.course, grader.rubric_check, grader.intake"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=SHIPPED.parents[1]).returncode == 0
