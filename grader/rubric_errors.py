"""What is wrong with a rubric, in sentences: one line for each problem, with file and dotted key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

SENTENCES = {
    "missing": "This key is needed and is not there.",
    "extra_forbidden": "No such key is known here.",
    "greater_than": "It must be greater than {gt}, and is {value}.",
    "greater_than_equal": "It must be at least {ge}, and is {value}.",
    "less_than_equal": "It must be at most {le}, and is {value}.",
    "finite_number": "It must be a finite number, and is {value}.",
    "int_type": "It must be a whole number, and is {value}.",
    "float_type": "It must be a number, and is {value}.",
    "string_type": "It must be a text in quotes, and is {value}.",
    "string_too_short": "It must not be empty.",
    "string_pattern_mismatch": "It must be a lab's name such as assignment4, and is {value}.",
    "literal_error": "It must be one of {expected}, and is {value}.",
    "dict_type": "It must be a table, and is {value}.",
    "mapping_type": "It must be a table, and is {value}.",
    "model_type": "It must be a table, and is {value}.",
    "tuple_type": "It must be an array of tables ([[…]]), and is {value}.",
    "value_error": "{error}.",
}
"""By pydantic's error type; its own words stand in for the rest."""


class RubricError(Exception):
    """A rubric that cannot be used.

    ``problems`` are pairs of dotted key and sentence; the key is empty for a problem of the whole file.
    """

    def __init__(self, path: Path, problems: Sequence[tuple[str, str]]) -> None:
        self.path = path
        self.problems = tuple(problems)
        lines = (f"{path}: {key}: {text}" if key else f"{path}: {text}" for key, text in problems)
        super().__init__("\n".join(lines))


def problems_in(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each of pydantic's errors as (dotted key, sentence); ``data`` is what was validated as ``model``."""
    for problem in error.errors(include_url=False):
        # pydantic marks an error in a mapping's key, not its value, by a last piece of its own.
        place = tuple(piece for piece in problem["loc"] if piece != "[key]")
        known = {"value": _brief(problem["input"]), **problem.get("ctx", {})}
        sentence = SENTENCES.get(problem["type"], problem["msg"].replace("{", "{{").replace("}", "}}") + ".")
        text = sentence.format(**known)
        if problem["type"] == "extra_forbidden":
            text += _known_keys(model, place)
        yield _dotted(place), text


def _dotted(place: Sequence[int | str]) -> str:
    """``hidden[1].sizes.input_dim``, counted from 1 as a reader of the file counts the entries."""
    text = ""
    for piece in place:
        text += f"[{piece + 1}]" if isinstance(piece, int) else f".{piece}" if text else piece
    return text


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _known_keys(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """The keys that may stand where an unknown one stood, the likeliest first."""
    for piece in place[:-1]:
        if isinstance(piece, str) and piece in model.model_fields:
            model = _model_in(model.model_fields[piece].annotation) or model
    keys = list(model.model_fields)
    near = difflib.get_close_matches(str(place[-1]), keys, n=1)
    return f" Did you mean {near[0]}?" if near else f" There are {', '.join(keys)}."


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds, alone or as the items of a tuple or a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
