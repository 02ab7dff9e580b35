"""The distribution's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window. Raises RuntimeError where none is installed."""
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("Chromium is not installed: run make setup, or apt-get install chromium.")
    arguments = ["--disable-dev-shm-usage"]
    if os.geteuid() == 0:  # Chromium refuses its own sandbox to root; it opens nothing but our own pages here
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
