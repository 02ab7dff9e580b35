"""Colours can be read, in both schemes and on paper, as WCAG 2.2 has it: 4.5 for text, 3 for graphics."""

from __future__ import annotations

import re

import pytest

from grader.report.pages import TEMPLATES

STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8")
ROOTS = [
    dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
]
SCHEMES = {"light": ROOTS[0], "dark": ROOTS[0] | ROOTS[1], "print": ROOTS[0] | ROOTS[2]}

TEXT = [
    (ink, ground) for ink in ("ink", "soft", "good", "bad", "warn", "link") for ground in ("paper", "card")
]
TEXT += [("ink", "fault")]
GRAPHICS = [
    (mark, "paper") for mark in ("edge", "collective", "send", "recv", "bad", "h4", "h5")
] + [("h5", "h0"), ("h4", "h0"), ("ink", "compute"), ("collective", "compute")]  # fmt: skip


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_black_on_white_is_the_largest_contrast() -> None:
    assert round(contrast("#fff", "#000000"), 6) == 21


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text_can_be_read(scheme: str, ink: str, ground: str) -> None:
    assert contrast(SCHEMES[scheme][ink], SCHEMES[scheme][ground]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("mark", "ground"), GRAPHICS)
def test_marks_can_be_seen(scheme: str, mark: str, ground: str) -> None:
    least = 1.5 if (mark, ground) == ("collective", "compute") else 3  # they differ in place, too
    assert contrast(SCHEMES[scheme][mark], SCHEMES[scheme][ground]) >= least


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_larger_difference_stands_out_more(scheme: str) -> None:
    colours = SCHEMES[scheme]
    steps = [contrast(colours[f"h{level}"], colours["paper"]) for level in range(6)]
    assert steps == sorted(steps)


def test_every_colour_of_the_stylesheet_is_one_of_these() -> None:
    used = set(re.findall(r"var\(--(\w+)\)", STYLE))
    assert used <= SCHEMES["light"].keys()
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert not re.findall(r"#[0-9a-f]{3,6}\b(?! rect| path)", rules)
