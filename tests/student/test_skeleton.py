"""What makes a skeleton: markers in, TODOs out, and every mistake in a marker is an error."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from grader.student.skeleton import (
    LINE_LENGTH,
    MarkerError,
    check_skeletons,
    make_skeleton,
    write_skeletons,
)

COURSE = Path(__file__).parents[2]

SOLUTION = dedent(
    '''
    class Layer:
        """Not a part of the solution."""

        def forward(self, x):
            # BEGIN SOLUTION: out = ...
            # a comment does not count,

            # nor does an empty line
            out = x + 1
            # END SOLUTION
            return out


    def step():
        # BEGIN SOLUTION: two things
        first()
        second()
        # END SOLUTION
    '''
)


def test_a_block_becomes_a_todo_that_names_its_place_and_size() -> None:
    assert make_skeleton(SOLUTION) == dedent(
        '''
        class Layer:
            """Not a part of the solution."""

            def forward(self, x):
                # TODO (1 line): out = ...
                raise NotImplementedError("TODO in Layer.forward (1 line): out = ...")
                return out


        def step():
            # TODO (2 lines): two things
            raise NotImplementedError("TODO in step (2 lines): two things")
        '''
    )


def test_a_file_without_markers_is_its_own_skeleton() -> None:
    source = "x = 1\r\ny = 2"
    assert make_skeleton(source) == source


def test_line_ends_are_kept() -> None:
    skeleton = make_skeleton(SOLUTION.replace("\n", "\r\n"))
    assert skeleton.replace("\r\n", "\n") == make_skeleton(SOLUTION)
    assert skeleton.count("\n") == skeleton.count("\r\n")


def test_a_block_at_the_top_level_says_so() -> None:
    skeleton = make_skeleton("# BEGIN SOLUTION: x = ...\nx = 1\n# END SOLUTION\n")
    assert 'raise NotImplementedError("TODO at the top level (1 line): x = ...")' in skeleton


def test_a_task_with_quotes_and_backslashes_is_still_python() -> None:
    task = 'say "hi" \\ in französisch'
    skeleton = make_skeleton(f"def f():\n    # BEGIN SOLUTION: {task}\n    pass\n    # END SOLUTION\n")
    with pytest.raises(NotImplementedError) as stop:
        exec(skeleton + "f()\n", {})
    assert str(stop.value) == f"TODO in f (1 line): {task}"


def test_a_long_todo_is_wrapped() -> None:
    task = "x" * 80
    skeleton = make_skeleton(f"def f():\n    # BEGIN SOLUTION: {task}\n    pass\n    # END SOLUTION\n")
    assert "raise NotImplementedError(\n" in skeleton
    assert max(map(len, skeleton.splitlines())) <= LINE_LENGTH


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("# BEGIN SOLUTION: a\nx = 1\n# BEGIN SOLUTION: b\n# END SOLUTION\n", 3, "inside the block"),
        ("x = 1\n# BEGIN SOLUTION: a\nx = 1\n", 2, "without an END"),
        ("x = 1\n# END SOLUTION\n", 2, "without a BEGIN"),
        ("# BEGIN SOLUTION: a\nx = 1\n# END SOLUTION\n# END SOLUTION\n", 4, "without a BEGIN"),
        ("# BEGIN SOLUTION: a\n\n# only talk\n# END SOLUTION\n", 1, "no code"),
        ("# BEGIN SOLUTION\nx = 1\n# END SOLUTION\n", 1, "does not say"),
        ("# BEGIN SOLUTION:\nx = 1\n# END SOLUTION\n", 1, "does not say"),
        ("x = 1\n#BEGIN SOLUTION: a\nx = 1\n# END SOLUTION\n", 2, "resembles"),
        ("### Begin solution\nx = 1\n### End solution\n", 1, "resembles"),
        ("x = 1  # BEGIN SOLUTION: a\n# END SOLUTION\n", 1, "resembles"),
    ],
)
def test_a_mistaken_marker_is_an_error_with_its_line(source: str, line: int, reason: str) -> None:
    with pytest.raises(MarkerError, match=reason) as error:
        make_skeleton(source, "lab.py")
    assert error.value.line == line
    assert str(error.value).startswith(f"lab.py:{line}: ")


def course_with(folder: Path, **files: str) -> Path:
    (folder / "reference").mkdir()
    for name, source in files.items():
        (folder / "reference" / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


def test_what_was_written_checks_as_up_to_date(tmp_path: Path) -> None:
    course = course_with(tmp_path, lab1=SOLUTION, lab2="x = 1\n")
    assert [path.name for path in write_skeletons(course)] == ["lab1.py", "lab2.py"]
    assert check_skeletons(course) == []


def test_a_missing_skeleton_is_a_drift(tmp_path: Path) -> None:
    (drift,) = check_skeletons(course_with(tmp_path, lab1=SOLUTION))
    assert drift.name == "assignment/lab1.py"


def test_a_changed_skeleton_is_shown_as_a_diff(tmp_path: Path) -> None:
    course = course_with(tmp_path, lab1=SOLUTION, lab2="x = 1\n")
    write_skeletons(course)
    skeleton = course / "assignment" / "lab1.py"
    skeleton.write_text(skeleton.read_text().replace("return out", "return out + 1"))
    (drift,) = check_skeletons(course)
    assert drift.name == "assignment/lab1.py"
    assert "-        return out + 1\n" in drift.diff
    assert "+        return out\n" in drift.diff


def test_nothing_is_written_when_one_reference_has_a_mistaken_marker(tmp_path: Path) -> None:
    course = course_with(tmp_path, lab1=SOLUTION, lab2="# END SOLUTION\n")
    with pytest.raises(MarkerError, match=r"^reference/lab2\.py:1: "):
        write_skeletons(course)
    assert not (course / "assignment").exists()


def test_the_shipped_skeletons_are_up_to_date() -> None:
    assert check_skeletons(COURSE) == []


def test_every_part_of_assignment_4_has_something_to_do() -> None:
    """A TODO in the part's own function, or in the class that it cannot do without."""
    tree = ast.parse((COURSE / "assignment" / "assignment4.py").read_text(encoding="utf-8"))
    with_todo = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and "NotImplementedError" in ast.unparse(node)
    }
    assert with_todo == {
        "single_step",
        "single_step_with_grad_accumulation",
        "data_parallel_single_step",
        "FullColumnParallelLinear",
        "full_column_parallel_single_step",
        "ScatterParallel",
        "ReduceParallel",
        "RowParallelLinear",
        "row_parallel_single_step",
        "PipelineStage",
        "pipeline_parallel_single_step",
    }
