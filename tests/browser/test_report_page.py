"""A person reads a report in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from grader.report.html import render_html
from tests.browser.conftest import Open
from tests.report import examples
from tests.report.test_html import hostile
from tests.report.timelines import interrupted

pytestmark = pytest.mark.browser

INTERRUPTED = examples.case(20, status="failed", ranks=(), timeline=interrupted(20))
REPORTS = {
    name: render_html(report)
    for name, report in {
        "right": examples.right(),
        "shard_order": examples.shard_order(),
        "deadlock": examples.deadlock(),
        "hostile": hostile(),
        "interrupted": examples.report(examples.exercise("pipeline", change=lambda _: INTERRUPTED)),
    }.items()
}
each = pytest.mark.parametrize("name", REPORTS)


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")


@each
def test_the_page_is_quiet_and_stays_at_home(open_page: Open, name: str) -> None:
    watched = open_page(REPORTS[name])
    unfold(watched.page)
    assert watched.asked == [] and watched.complaints == []


@each
def test_every_picture_can_be_seen_and_is_named(open_page: Open, name: str) -> None:
    page = open_page(REPORTS[name]).page
    unfold(page)
    pictures = page.get_by_role("img").all()
    assert len(pictures) >= 7
    for picture in pictures:
        box = picture.bounding_box()
        assert box and box["width"] > 100 and box["height"] > 40
        assert picture.locator("rect, path").count() >= 4


def test_a_wrong_shard_order_is_seen_at_once(open_page: Open) -> None:
    page = open_page(REPORTS["shard_order"]).page
    picture = page.get_by_role("img", name="Difference from the single device").first
    expect(picture).to_be_visible()  # nothing had to be unfolded
    assert picture.locator("g").count() == 4
    for panel in picture.locator("g").all():
        ground = panel.locator("rect.h0").bounding_box()
        coloured = [box for one in panel.locator("path").all() if (box := one.bounding_box())]
        assert ground and coloured
        right = max(box["x"] + box["width"] for box in coloured)
        assert right == pytest.approx(ground["x"] + ground["width"] / 2, abs=2)
        fills = panel.locator("path").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)")
        assert len(set(fills)) == len(fills) >= 4


def test_a_deadlock_is_where_all_bars_stop(open_page: Open) -> None:
    page = open_page(REPORTS["deadlock"]).page
    expect(page.get_by_text("Where the ranks stopped")).to_be_visible()
    boxes = [one.bounding_box() for one in page.locator("rect.stuck").all()][:4]
    ends = {round(box["x"] + box["width"]) for box in boxes if box}
    assert len(boxes) == 4 and len(ends) == 1
    expect(page.locator("svg text.stopped").nth(1)).to_have_text("recv from rank 2, line 233")


def test_a_rank_that_computed_until_it_was_stopped_is_drawn_so_to_the_right_edge(open_page: Open) -> None:
    page = open_page(REPORTS["interrupted"]).page
    picture = page.get_by_role("img", name="What every rank did when").first
    lane = picture.locator("g.lane").nth(1)
    expect(lane.locator("text.stopped")).to_have_text("computed until it was stopped")
    bar, stuck = (
        lane.locator(".waiting rect").bounding_box(),
        picture.locator("rect.stuck").first.bounding_box(),
    )
    said, whole = lane.locator("text.stopped").bounding_box(), picture.bounding_box()
    assert bar and stuck and said and whole
    assert bar["x"] + bar["width"] == pytest.approx(stuck["x"] + stuck["width"], abs=1)
    assert said["x"] + said["width"] <= whole["x"] + whole["width"]


def test_what_is_left_out_stands_where_nothing_is_drawn(open_page: Open) -> None:
    page = open_page(REPORTS["interrupted"]).page
    picture = page.get_by_role("img", name="What every rank did when").first
    note = picture.get_by_text("300 operations before this are not drawn").bounding_box()
    (bar,) = (one.bounding_box() for one in picture.locator("rect.stuck").all()[1:2])
    label = picture.get_by_text("rank 2", exact=True).bounding_box()
    assert note and bar and label
    assert label["x"] + label["width"] < note["x"] and note["x"] + note["width"] < bar["x"]
    assert picture.locator("g.lane").nth(2).locator("rect.compute").count() == 0
    expect(picture.get_by_text("not drawn: ranks 16 to 19")).to_be_visible()


def test_whose_page_it_is_and_what_the_checks_ask_is_at_hand(open_page: Open) -> None:
    page = open_page(REPORTS["right"]).page
    expect(page.get_by_text("For staff: this page shows hidden cases.")).to_be_in_viewport()
    answer = page.get_by_text("data in which all that it does not own is NaN")
    expect(answer).not_to_be_visible()
    page.get_by_text("What the checks ask").click()
    expect(answer).to_be_visible()


def test_a_pipeline_has_arrows_between_its_lanes(open_page: Open) -> None:
    page = open_page(REPORTS["right"]).page
    page.get_by_text("Part 6: pipeline parallel").last.click()
    arrows = page.locator("#exercise-7 path.arrow")
    assert arrows.count() == 24
    assert all((box := one.bounding_box()) and box["height"] > 20 for one in arrows.all())


def test_what_a_hostile_submission_wrote_is_text(open_page: Open) -> None:
    watched = open_page(REPORTS["hostile"])
    unfold(watched.page)
    text = watched.page.locator("body").inner_text()
    assert text.count("<script>alert(1)</script><img src=//x onerror=alert(1)>␛[31mred␀⟨U+202E⟩gnp.exe") >= 8
    assert watched.page.locator("script, img").count() == 0
    assert watched.complaints == [] and watched.asked == []


def test_the_lines_at_fault_are_marked(open_page: Open) -> None:
    page = open_page(REPORTS["deadlock"]).page
    fault, other = page.locator(".line.fault").all()
    expect(fault).to_contain_text("dist.recv(buffer, src=(rank + 1) % world_size)")
    expect(other).to_contain_text("dist.send(output.detach(), dst=rank + 1)")
    others = page.locator(".line:not(.fault)").first
    ground = "(one) => getComputedStyle(one).backgroundColor"
    assert fault.evaluate(ground) != others.evaluate(ground)


@each
@pytest.mark.parametrize("width", [320, 1000])
def test_nothing_is_wider_than_the_window(open_page: Open, name: str, width: int) -> None:
    page = open_page(REPORTS[name], width=width).page
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_dark_scheme_is_dark_and_the_light_one_light(open_page: Open) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        page = open_page(REPORTS["shard_order"], scheme=scheme).page
        colours = page.evaluate(
            "[document.body, document.querySelector('.h0')].map((one) => getComputedStyle(one))"
            ".flatMap((style) => [style.backgroundColor, style.color, style.fill])"
        )
        ground, ink, _, _, _, fill = ([int(n) for n in re.findall(r"\d+", one)[:3]] for one in colours)
        grounds[scheme] = (sum(ground), sum(ink), sum(fill))
    assert grounds["light"][0] > 700 > 100 > grounds["light"][1] - 30
    assert grounds["dark"][0] < 100 and grounds["dark"][1] > 600
    assert grounds["dark"][2] < 200 < grounds["light"][2]


def test_it_prints_on_a_few_pages_and_nothing_is_cut_off(open_page: Open) -> None:
    page = open_page(REPORTS["shard_order"]).page
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 6
    page.set_viewport_size({"width": 688, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    for picture in page.locator("figure svg[role=img]:visible").all():
        box = picture.bounding_box()
        assert box and box["x"] + box["width"] <= 689


def test_the_keyboard_alone_unfolds_and_scrolls(open_page: Open) -> None:
    page = open_page(REPORTS["right"], width=320).page
    focused = "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(focused))
        if seen[-1][0] == "SUMMARY":
            break
    assert seen[-1] == ["SUMMARY", "solid"]
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    assert "DIV" in [tag for tag, _ in seen]  # a table that is wider than the window can be scrolled


def test_a_link_of_the_overview_leads_to_its_exercise(open_page: Open) -> None:
    page = open_page(REPORTS["deadlock"]).page
    page.get_by_role("link", name="Part 6: pipeline parallel").click()
    expect(page.get_by_role("heading", name="Part 6: pipeline parallel")).to_be_in_viewport()
