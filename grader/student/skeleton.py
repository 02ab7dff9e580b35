"""Skeletons: the reference solution with its marked blocks taken out.

A block of the reference looks like this

    # BEGIN SOLUTION: outputs = ...
    outputs = model(inputs)
    # END SOLUTION

and becomes, at the same indentation,

    # TODO (1 line): outputs = ...
    raise NotImplementedError("TODO in single_step (1 line): outputs = ...")
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINE_LENGTH = 110

_MARKER = re.compile(r"(?P<indent>[ \t]*)# (?P<kind>BEGIN|END) SOLUTION(?P<text>:.*)?")
# A mistyped marker would hand the solution to the class: whatever resembles one must be one.
_RESEMBLES_MARKER = re.compile(r"#.*\b(begin|end)\W*solution\b", re.IGNORECASE)


class MarkerError(ValueError):
    """A solution marker that does not make sense. ``line`` counts from 1."""

    def __init__(self, name: str, line: int, reason: str) -> None:
        super().__init__(f"{name}:{line}: {reason}")
        self.line = line


@dataclass(frozen=True)
class Block:
    """A marked block: its lines ``first`` to ``last`` (from 0, markers included) and what they stand for."""

    first: int
    last: int
    indent: str
    task: str
    size: int


@dataclass(frozen=True)
class Drift:
    """A skeleton that is not what its reference gives, with the unified diff that would mend it."""

    name: str
    diff: str


def make_skeleton(source: str, name: str = "reference") -> str:
    """Return ``source`` with every solution block replaced by a TODO that stops with a clear message.

    ``name`` is the file's, for messages. Raises MarkerError for markers that are nested, unclosed, unopened,
    mistyped or empty, and SyntaxError when ``source`` is not Python.
    """
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source, filename=name)
    skeleton: list[str] = []
    kept_until = 0
    for block in _blocks(lines, name):
        line_end = lines[block.first][len(lines[block.first].rstrip("\r\n")) :]
        todo = _todo(block, _enclosing(tree, block.first + 1))
        skeleton += lines[kept_until : block.first]
        skeleton += [f"{block.indent}{line}{line_end}" for line in todo]
        kept_until = block.last + 1
    return "".join(skeleton + lines[kept_until:])


def write_skeletons(course_root: Path) -> list[Path]:
    """Write the skeleton of every ``reference/*.py`` to ``assignment/``. Returns the files written.

    Raises MarkerError before anything is written.
    """
    skeletons = dict(_skeletons(course_root))
    for path, skeleton in skeletons.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(skeleton.encode())
    return list(skeletons)


def check_skeletons(course_root: Path) -> list[Drift]:
    """Compare every skeleton with what its reference gives now. An empty list says that all are up to date.

    Raises MarkerError.
    """
    drifts = []
    for path, skeleton in _skeletons(course_root):
        name = f"{path.parent.name}/{path.name}"
        present = path.read_bytes().decode() if path.exists() else ""
        if present != skeleton:
            before, after = present.splitlines(keepends=True), skeleton.splitlines(keepends=True)
            diff = difflib.unified_diff(before, after, f"{name} (as it is)", f"{name} (from the reference)")
            drifts.append(Drift(name, "".join(diff)))
    return drifts


def _skeletons(course_root: Path) -> Iterator[tuple[Path, str]]:
    """Each skeleton's path and what should stand there."""
    for reference in sorted((course_root / "reference").glob("*.py")):
        # Bytes, not text: the line ends of the reference are kept.
        source = reference.read_bytes().decode()
        skeleton = make_skeleton(source, f"reference/{reference.name}")
        yield course_root / "assignment" / reference.name, skeleton


def _blocks(lines: list[str], name: str) -> Iterator[Block]:
    """The marked blocks, in order."""
    begin: tuple[int, str, str] | None = None
    for index, line in enumerate(lines):
        number = index + 1
        marker = _MARKER.fullmatch(line.rstrip())
        if marker is None:
            if _RESEMBLES_MARKER.search(line):
                raise MarkerError(name, number, "this resembles a solution marker but is not written as one.")
            continue
        task = (marker["text"] or "").removeprefix(":").strip()
        if marker["kind"] == "BEGIN":
            if begin is not None:
                raise MarkerError(
                    name, number, f"BEGIN SOLUTION inside the block that begins in line {begin[0] + 1}."
                )
            if not task:
                raise MarkerError(name, number, "BEGIN SOLUTION does not say what the student must write.")
            begin = index, marker["indent"], task
        else:
            if begin is None:
                raise MarkerError(name, number, "END SOLUTION without a BEGIN SOLUTION before it.")
            first, indent, task = begin
            size = sum(_is_code(inner) for inner in lines[first + 1 : index])
            if size == 0:
                raise MarkerError(name, first + 1, "this solution block holds no code.")
            yield Block(first, index, indent, task, size)
            begin = None
    if begin is not None:
        raise MarkerError(name, begin[0] + 1, "BEGIN SOLUTION without an END SOLUTION after it.")


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _enclosing(tree: ast.Module, line: int) -> str:
    """The qualified name of the function or class around a line, or "" at module level."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, scopes) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return ".".join(node.name for node in sorted(around, key=lambda node: node.lineno))


def _todo(block: Block, scope: str) -> list[str]:
    """The lines, not indented, that stand for a block in the skeleton."""
    size = "1 line" if block.size == 1 else f"{block.size} lines"
    place = f"in {scope}" if scope else "at the top level"
    # A JSON string is a Python string too, always in double quotes.
    message = json.dumps(f"TODO {place} ({size}): {block.task}", ensure_ascii=False)
    stop = [f"raise NotImplementedError({message})"]
    if len(block.indent) + len(stop[0]) > LINE_LENGTH:
        stop = ["raise NotImplementedError(", f"    {message}", ")"]
    return [f"# TODO ({size}): {block.task}", *stop]
