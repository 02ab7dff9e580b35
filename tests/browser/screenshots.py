"""Pictures of the pages for the documentation: ``python -m tests.browser.screenshots FOLDER``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from grader.report.html import render_html
from tests.browser.chromium import chromium
from tests.report import examples
from tests.report.classes import class_page

_MARGIN = 24  # pixels around what is shown


@dataclass(frozen=True)
class View:
    """What of a page is shown: from its top, or from the element ``begin``, to the end of ``end``; ``scale``
    is pixels of the picture for one of the page."""

    text: str
    width: int
    end: str
    begin: str = "body"
    scale: float = 1.25
    prepare: Callable[[Page], None] = lambda page: None


def views() -> Mapping[str, View]:
    """By the name of the file."""
    return {
        "right": View(
            render_html(examples.right()), 920, "#exercise-7 figure >> nth=1",
            prepare=lambda page: page.locator("#exercise-7 > summary").click(),
        ),
        "shard_order": View(
            render_html(examples.shard_order()), 920, "#exercise-5 figure", begin="#exercise-5"
        ),
        "deadlock": View(render_html(examples.deadlock()), 920, "#exercise-7 figure", begin="#exercise-7"),
        "class": View(class_page(), 1240, "#students tbody tr >> nth=9", scale=1),
    }  # fmt: skip


def take(browser: Browser, view: View, target: Path) -> None:
    """Write a PNG of the view."""
    viewport = {"width": view.width, "height": 900}
    context = browser.new_context(viewport=viewport, device_scale_factor=view.scale)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(view.text, encoding="utf-8")
        page = context.new_page()
        page.goto(file.as_uri())
        view.prepare(page)
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        top = page.locator(view.begin).first.bounding_box()
        bottom = page.locator(view.end).first.bounding_box()
        if top is None or bottom is None:
            raise RuntimeError(f"{target.name}: {view.begin} or {view.end} is not to be seen")
        y = max(0.0, top["y"] - _MARGIN)
        height = bottom["y"] + bottom["height"] + _MARGIN - y
        clip = {"x": 0, "y": y, "width": view.width, "height": height}
        # Playwright hides the caret by a style of its own, which the page's policy refuses.
        page.screenshot(path=target, clip=clip, full_page=True, caret="initial")  # type: ignore[arg-type]
    context.close()


def main(folder: Path) -> None:
    """Write all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name, view in views().items():
            take(browser, view, folder / f"{name}.png")
            print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
