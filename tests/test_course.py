from __future__ import annotations

import pytest

from grader.course import CourseError, find_course


@pytest.fixture
def course(tmp_path):
    root = tmp_path / "course"
    for name in ("assignment/utils.py", "reference/rubric.toml"):
        (root / name).parent.mkdir(parents=True)
        (root / name).touch()
    return root.resolve()


def test_a_course_is_found_from_any_folder_below_it(course):
    below = course / "submissions" / "alice"
    below.mkdir(parents=True)
    found = find_course(below, None)
    assert found.root == course
    assert found.staff_utils == course / "assignment" / "utils.py"
    assert found.reference_dir == course / "reference"
    assert found.rubric_path == course / "reference" / "rubric.toml"
    assert find_course(course, None) == found


def test_a_course_that_is_named_wins_over_the_one_around(course, tmp_path):
    assert find_course(tmp_path, course).root == course
    with pytest.raises(CourseError, match="is not a course folder"):
        find_course(course, tmp_path)


def test_a_named_folder_is_not_searched_upwards_and_what_it_lacks_is_said(course):
    (course / "reference" / "rubric.toml").unlink()
    with pytest.raises(CourseError, match=r"it has no reference/rubric\.toml\. "):
        find_course(course, course)
    with pytest.raises(CourseError, match=r"no assignment/utils\.py and no reference/rubric\.toml"):
        find_course(course, course / "assignment")


def test_outside_of_any_course_the_message_says_how_to_name_one(tmp_path):
    with pytest.raises(CourseError, match="name it with --course"):
        find_course(tmp_path, None)
