"""What the code handed in could have printed, to hold a log against it. Nothing of it is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.exercises.contract import Lab

_COMPARE = "compare_tensors"
_PREFIX_PLACE = 3  # among its arguments
_LARGEST = 2**18  # characters of all files; parsing takes memory by the hundredfold
_IN_BRACKETS = re.compile(r"\[\s*Rank\s*|^\s*\]|\[\s*$")
_WORD = re.compile(r"[A-Za-z]{2,}")
_NO_LETTERS = re.compile(r"[^A-Za-z]+")


@dataclass(frozen=True)
class Code:
    """The files handed in, by name.

    ``prefixes`` are those of its comparisons, each with the exercise whose result is compared where that is
    plain to see; ``has_computed`` says that some are not written out, and ``has_bare`` that some comparisons
    have none. ``texts`` are all fixed texts. ``is_read`` is false for code that does not parse.
    """

    lines: Mapping[str, Sequence[str]]
    is_read: bool = False
    prefixes: Mapping[str, str | None] = field(default_factory=dict)
    has_computed: bool = False
    has_bare: bool = False
    texts: frozenset[str] = frozenset()

    def could_compare(self, prefix: str) -> bool:
        """Whether a comparison with this prefix may be this code's."""
        if not prefix:
            return self.has_bare or self.has_computed
        return self.has_computed or prefix in self.prefixes or prefix in self.texts

    def could_say(self, message: str) -> bool:
        """Whether a message may be this code's. Only what reads as a sentence can be told: anything may be
        the value of a variable."""
        letters = len(_NO_LETTERS.sub("", message))
        if len(_WORD.findall(message)) < 3 or letters * 2 < len(message):
            return True
        if any(message in text for text in self.texts):
            return True
        known = sum(len(_NO_LETTERS.sub("", text)) for text in self.texts if text in message)
        return known >= 0.4 * letters


def code_of(sources: Mapping[str, str], lab: Lab) -> Code:
    """Read ``sources``, by path below the submission's folder. Never raises for what is in them."""
    lines = {path.rpartition("/")[2]: text.splitlines() for path, text in sources.items()}
    if lab.file not in sources or sum(map(len, sources.values())) > _LARGEST:
        return Code(lines)
    try:
        by_path = {path: ast.parse(text) for path, text in sources.items()}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Code(lines)
    own, trees = by_path[lab.file], by_path.values()
    calls = [call for tree in trees for call in _comparisons(tree)]
    written = [(call, _prefix(call)) for call in calls]
    results = _results(own, lab)
    baselines = {part.name for part in lab.exercises if part.printed and not part.printed.match}
    return Code(
        lines,
        True,
        {prefix: _exercise(call, results, baselines) for call, prefix in written if prefix},
        any(prefix is None for _, prefix in written),
        any(prefix == "" for _, prefix in written),
        frozenset(text for tree in trees for text in _texts(tree)),
    )


def _comparisons(tree: ast.Module) -> Iterator[ast.Call]:
    names = {_COMPARE}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {name.asname for name in node.names if name.name == _COMPARE and name.asname}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in names:
                yield node


def _prefix(call: ast.Call) -> str | None:
    """The prefix that is written out, "" where there is none; None where it is computed."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "prefix"]
    given += call.args[_PREFIX_PLACE : _PREFIX_PLACE + 1]
    hidden = [keyword for keyword in call.keywords if keyword.arg is None]
    if hidden or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    match given:
        case []:
            return ""
        case [ast.Constant(value=str(text))]:
            return text
    return None


def _results(tree: ast.Module, lab: Lab) -> dict[str, str]:
    """The names that stand for an exercise's result, with the exercise: those of its functions, ``weight`` of
    ``weight = entry().cpu()``, and what a loop over it binds. A name that stands for several is left out."""
    entries = {entry: exercise.name for exercise in lab.exercises for entry in exercise.entries}
    stands_for = {entry: {name} for entry, name in entries.items()}
    for node in sorted(ast.walk(tree), key=lambda node: isinstance(node, ast.For)):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.For(target=target, iter=value):
                targets = [target]
            case _:
                continue
        known = entries if isinstance(node, ast.Assign) else stands_for
        held = [stands_for[name] for name in _names(value) if name in known]
        for name in (name for target in targets for name in _names(target) if held):
            stands_for[name] = stands_for.get(name, set()).union(*held)
    return {name: next(iter(found)) for name, found in stands_for.items() if len(found) == 1}


def _exercise(call: ast.Call, results: Mapping[str, str], baselines: Collection[str]) -> str | None:
    """The exercise whose result is compared with the baseline's; None where that is not plain to see."""
    named = {results[name] for argument in call.args for name in _names(argument) if name in results}
    others = named - set(baselines)
    return next(iter(others)) if len(others) == 1 else None


def _names(node: ast.AST) -> list[str]:
    return [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]


def _texts(tree: ast.Module) -> Iterator[str]:
    """Fixed texts with letters in them, without ``[Rank``, and without docstrings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            text = _IN_BRACKETS.sub("", node.value).strip()
            if _WORD.search(text):
                yield text
