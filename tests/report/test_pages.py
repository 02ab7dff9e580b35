"""Pages find their templates wherever the grader is installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import grader
from grader.report.pages import TEMPLATES, visible

ROOT = Path(__file__).parents[2]


def test_templates_are_files_of_the_package_and_a_wheel_has_all_of_them() -> None:
    package = Path(grader.__file__).parent
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "grader"
    ]
    shipped = {path for pattern in data for path in package.glob(pattern)}
    assert TEMPLATES.is_relative_to(package)
    assert {path for path in TEMPLATES.rglob("*") if path.is_file()} <= shipped
    assert (TEMPLATES / "report.html.j2").samefile(ROOT / "templates" / "report" / "report.html.j2")


def test_what_is_not_seen_is_shown_and_what_is_seen_stays() -> None:
    assert visible("a\tb\nc ✓ ä 中 🙂") == "a\tb\nc ✓ ä 中 🙂"
    assert visible("\x00\x1b\x7f\x9b\u202e\u200b") == "␀␛␡⟨U+009B⟩⟨U+202E⟩⟨U+200B⟩"
    assert (visible(0.5), visible(10.0), visible(3), visible(None)) == ("0.5", "10", 3, None)
