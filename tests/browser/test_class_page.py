"""A person looks through a class in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from grader.report.gradebook import Row
from grader.report.index import render_index
from tests.browser.conftest import Open
from tests.report.classes import EXERCISES, class_page, students
from tests.report.test_html import HOSTILE

pytestmark = pytest.mark.browser

CLASS = class_page(300)


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#students tbody tr:visible > :nth-child({number})").all_inner_texts()


def scores(page: Page) -> list[float | None]:
    return [None if text == "–" else float(text.split("/")[0]) for text in column(page, 3)]


def test_a_class_of_three_hundred_is_quiet_small_and_stays_at_home(open_page: Open) -> None:
    watched = open_page(CLASS)
    expect(watched.page.locator("#students tbody tr")).to_have_count(300)
    assert watched.asked == [] and watched.complaints == []
    assert len(CLASS.encode()) < 400_000


def test_a_click_sorts_and_another_one_sorts_the_other_way(open_page: Open) -> None:
    page = open_page(CLASS).page
    button = page.get_by_role("button", name="Score")
    head = page.get_by_role("columnheader", name="Score", exact=True)
    expect(head).to_have_attribute("aria-sort", "none")
    button.click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    numbers = [score for score in scores(page) if score is not None]
    assert len(numbers) == 298 and numbers == sorted(numbers)
    assert scores(page)[-2:] == [None, None]  # what has no score is last both ways
    button.click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [score for score in scores(page) if score is not None] == sorted(numbers, reverse=True)
    assert scores(page)[-2:] == [None, None]


def test_only_the_column_that_is_sorted_by_says_so(open_page: Open) -> None:
    page = open_page(CLASS).page
    page.get_by_role("button", name="Score").click()
    page.get_by_role("button", name="pipeline").click()
    expect(page.locator("th[aria-sort=ascending], th[aria-sort=descending]")).to_have_count(1)


def test_names_are_sorted_as_people_count(open_page: Open) -> None:
    rows = [Row(name, "passed", 1, 1) for name in ("student 10", "Zoë", "student 9", "äa")]
    page = open_page(render_index(rows, ()), locale="en-GB").page
    page.get_by_role("button", name="Student").click()
    assert column(page, 1) == ["äa", "student 9", "student 10", "Zoë"]


def test_text_and_status_filter_together(open_page: Open) -> None:
    page = open_page(CLASS).page
    rows = students(300)
    page.get_by_label("Name or finding").fill("DEADLOCK 17")
    wanted = [
        row.student
        for row in rows
        if "17" in row.student and any(code == "deadlock" for _, code in row.codes)
    ]
    assert wanted and column(page, 1) == wanted
    expect(page.locator("#shown")).to_have_text(f"{len(wanted)} of 300")
    page.get_by_label("Status").select_option("full marks")
    assert column(page, 1) == []
    page.get_by_label("Name or finding").fill("")
    assert column(page, 1) == [row.student for row in rows if row.status == "passed"]
    page.get_by_label("Status").select_option("all")
    assert len(column(page, 1)) == 300


def test_what_is_filtered_out_stays_out_when_sorted(open_page: Open) -> None:
    page = open_page(CLASS).page
    page.get_by_label("Status").select_option("marks lost")
    before = sorted(column(page, 1))
    page.get_by_role("button", name="Score").click()
    assert sorted(column(page, 1)) == before


def test_the_keyboard_reaches_the_buttons_and_sorts(open_page: Open) -> None:
    page = open_page(CLASS).page
    page.get_by_label("Name or finding").focus()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "BUTTON":
            break
    assert page.evaluate("document.activeElement.textContent") == "Student"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Student", exact=True)).to_have_attribute(
        "aria-sort", "ascending"
    )


def test_the_distribution_has_a_column_for_every_tenth(open_page: Open) -> None:
    page = open_page(CLASS).page
    picture = page.get_by_role("img", name="Distribution of scores")
    box = picture.bounding_box()
    assert box and box["width"] > 200 and box["height"] > 100
    counts = sum(int(text) for text in picture.locator("text.strong").all_text_contents())
    assert counts == sum(row.status in ("passed", "failed") for row in students(300))
    assert picture.locator("rect.column").count() == 11


def test_what_a_hostile_name_holds_is_text(open_page: Open) -> None:
    rows = [Row(HOSTILE, "passed", 1, 1, file=HOSTILE, report="x/report.html"), *students(5)]
    watched = open_page(render_index(rows, EXERCISES))
    assert "<script>alert(1)</script>" in column(watched.page, 1)[0]
    assert watched.page.locator("script").count() == 1 and watched.page.locator("img").count() == 0
    watched.page.get_by_role("button", name="Student").click()
    assert watched.complaints == [] and watched.asked == []


@pytest.mark.parametrize("width", [320, 1000, 1280])
def test_nothing_is_wider_than_the_window(open_page: Open, width: int) -> None:
    page = open_page(CLASS, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_script_that_is_not_the_pages_own_does_not_run(open_page: Open) -> None:
    smuggled = CLASS.replace("</main>", "<script>document.title = 'taken'</script></main>")
    watched = open_page(smuggled)
    assert watched.page.title() != "taken"
    assert "Content Security Policy" in watched.complaints[0]


def test_it_prints(open_page: Open) -> None:
    assert open_page(CLASS).page.pdf(format="A4").startswith(b"%PDF")
