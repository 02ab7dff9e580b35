"""Pages of HTML: one file each, which asks nothing of the network and runs nothing that is not its own."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from typing import TYPE_CHECKING, Any

from grader.shipped import shipped

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = shipped("templates/report")

# Intake and judge clean what they pass on; a page shows whatever it is given, as text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def page(template: str, **values: object) -> str:
    """The page of a template. Its style, and the script that it may have (``NAME.js`` beside it), are in it,
    and are all that its Content-Security-Policy allows."""
    environment = _environment()
    style, script = _asset("style.css"), _asset(f"{template}.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src {_hash(script)}"
    return environment.get_template(f"{template}.html.j2").render(
        values, policy=policy, style=_own(style), script=_own(script)
    )


def visible(value: Any) -> Any:
    """Text with its control characters, and those that reorder what is read, as signs that show them; a
    number in up to six digits. Anything else as it is."""
    if type(value) is str:
        return _UNSEEN.sub(_sign, value)
    return f"{value:g}" if type(value) is float else value


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else f"⟨U+{code:04X}⟩"


@functools.cache
def _environment() -> Environment:
    # Jinja takes longer to import than most of the grader: only pages need it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from grader.report.pictures import units

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "difference": units.difference,
        "duration": units.duration,
        "listed": units.listed,
        "ranges": units.ranges,
        "ranks": units.ranks,
        "zip": zip,
    }
    return environment


@functools.cache
def _asset(name: str) -> str:
    path = TEMPLATES / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@functools.cache
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _own(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
