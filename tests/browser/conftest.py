"""One browser for each worker, and pages whose network, console and dialogs are watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.chromium import chromium

expect.set_options(timeout=30_000)  # milliseconds: the machine may have other work


@dataclass
class Watched:
    """A page of ours, and what it did that it should not."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Open = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the text of a page from a file, as from a mail; every other address is refused and noted."""
    contexts: list[BrowserContext] = []

    def opened(text: str, width: int = 1000, scheme: str = "light", **more: object) -> Watched:
        file = tmp_path / f"page {len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            **more,  # type: ignore[arg-type]
        )
        contexts.append(context)
        watched = Watched(context.new_page())

        def pass_on(route: Route) -> None:
            if route.request.url == file.as_uri():
                route.continue_()
            else:
                watched.asked.append(route.request.url)
                route.abort()

        context.route("**/*", pass_on)
        watched.page.on("console", lambda message: watched.complaints.append(message.text))
        watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        watched.page.on("dialog", lambda dialog: (watched.complaints.append("a dialog"), dialog.dismiss()))
        watched.page.goto(file.as_uri())
        return watched

    yield opened
    for context in contexts:
        context.close()
