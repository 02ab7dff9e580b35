"""The page of a class: everybody is in it, and links lead where the pages are."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from grader.report.gradebook import Row
from grader.report.index import render_index
from grader.report.tallies import tenths
from tests.report.classes import EXERCISES, class_page, students
from tests.report.test_html import HOSTILE, Elements


def links(text: str) -> list[str]:
    return [attributes["href"] or "" for tag, attributes in Elements(text).elements if tag == "a"]


def test_every_student_has_a_row_with_a_link_where_there_is_a_page() -> None:
    rows = students(30)
    text = render_index(rows, EXERCISES)
    assert all(f">{row.student}<" in text for row in rows)
    assert [unquote(link) for link in links(text)] == [f"./{row.report}" for row in rows if row.report]


@pytest.mark.parametrize(
    "path", ["a b/report.html", "100%/report.html", "a?b#c/report.html", "//host/report.html",
             "ärger/report.html", "javascript:alert(1)/report.html",
             'x"onclick="y/report.html', "\udcff/report.html"],
)  # fmt: skip
def test_a_link_leads_to_the_file_whatever_its_name(path: str) -> None:
    (link,) = links(render_index([Row("ann", "passed", 1, 1, report=path)], ()))
    assert re.fullmatch(r"\./[\w./%~-]+", link) and not link.startswith("//")
    assert unquote(link, errors="surrogatepass") == f"./{path}"


def test_names_and_sentences_are_text() -> None:
    rows = [Row(HOSTILE, f"error: {HOSTILE}", None, 1, codes=frozenset({(HOSTILE, HOSTILE)}))]
    text = render_index(rows, (HOSTILE,), HOSTILE)
    assert text.count("<script") == 1 and "<img" not in text and "␛[31mred␀⟨U+202E⟩gnp.exe" in text
    Elements(text)


def test_what_was_not_graded_is_no_zero() -> None:
    text = render_index([Row("ann", "not graded yet: run the same command again", None, 100)], EXERCISES)
    assert "not graded yet" in text and "data-number" not in text.split("<tbody>")[-1]


def test_the_counts_are_those_of_the_rows() -> None:
    rows = students(50)
    text = render_index(rows, EXERCISES)
    passed = sum(row.status == "passed" for row in rows)
    failed = sum(row.status == "failed" for row in rows)
    assert f"50 students, {passed} full marks, {failed} marks lost, 1 nothing to grade" in text
    whole = sum(row.exercises.get("pipeline") == "passed" for row in rows)
    assert f"{whole} of {passed + failed}" in text


def test_a_class_in_which_nothing_is_graded_has_a_page() -> None:
    for rows in ([], [Row("ann", "not submitted", 0, 100)]):
        text = render_index(rows, EXERCISES)
        assert Elements(text).open == [] and "Commonest" not in text


def test_the_page_asks_nothing_of_the_network_and_runs_its_own_script_only() -> None:
    text = class_page()
    page = Elements(text)
    assert page.open == [] and [tag for tag, _ in page.elements].count("script") == 1
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert (attributes.get("href") or "./").startswith("./")
    assert re.search(r"default-src &#39;none&#39;.*script-src &#39;sha256-", text)


def test_a_score_far_above_its_maximum_is_full_marks() -> None:
    assert tenths([Row("ann", "passed", 1e6, 5e-324), Row("bob", "passed", 0.5, 1)])[5:] == [1, 0, 0, 0, 0, 1]
