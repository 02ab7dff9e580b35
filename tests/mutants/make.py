"""Makes the mutants of a reference solution: in a fixed order, each different from all others, all of
them Python."""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from tests.mutants import expressions, statements
from tests.mutants.scope import EXERCISES, WHOLE, solution_lines

_MOST_OF_A_LINE = 160  # characters of a statement in a mutant's id

_TEXT = m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
_SUPER = m.SimpleStatementLine(body=[m.Expr(m.Call(func=m.Attribute(value=m.Call(func=m.Name("super")))))])
_LEFT_ALONE = statements.ASSERTION | _TEXT | _SUPER


@dataclass(frozen=True)
class Mutant:
    """The whole file with one change. ``line`` is the reference's, from 1.

    ``id`` stays the same when the reference grows elsewhere: function, operator and the lines changed.
    ``exercises`` are those that are asked.
    """

    id: str
    function: str
    line: int
    operator: str
    diff: str
    source: str
    exercises: tuple[str, ...]


def without_checks(source: str) -> str:
    """The same file, whose calls of ``check`` ask nothing: what they would find out, the grader must."""
    muted, count = re.subn(r"^(from utils import .*)$", r"\1; check = lambda *_: None", source, flags=re.M)
    assert count == 1
    return muted


def make_mutants(source: str) -> tuple[Mutant, ...]:
    """All mutants of ``source``, in the order of its lines."""
    source = without_checks(source)
    wrapper = MetadataWrapper(cst.parse_module(source))
    lines = {node: range_.start.line for node, range_ in wrapper.resolve(PositionProvider).items()}
    parents = wrapper.resolve(ParentNodeProvider)
    students = solution_lines(source)
    ids = Counter[str]()
    mutants = []
    for definition in wrapper.module.body:
        if (
            not isinstance(definition, cst.FunctionDef | cst.ClassDef)
            or definition.name.value not in EXERCISES
        ):
            continue
        before = wrapper.module.code_for_node(definition)
        assert source.count(before) == 1
        seen = {_parsed(before)}
        for function, operator, line, mutated, short in _changes(definition, lines, parents, students):
            after = wrapper.module.code_for_node(mutated)
            tree = _parsed(after)
            if tree is None or tree in seen:
                continue
            seen.add(tree)
            mutant = _mutant(function, operator, line, before, after, short)
            ids[mutant.id] += 1
            number = f" #{ids[mutant.id]}" if ids[mutant.id] > 1 else ""
            mutants.append(replace(mutant, id=mutant.id + number, source=source.replace(before, after)))
    return tuple(sorted(mutants, key=lambda mutant: mutant.line))


def _parsed(source: str) -> str | None:
    """The syntax tree as text; None for what the compiler refuses."""
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return None
    return ast.dump(ast.parse(source))


def _mutant(function: str, operator: str, line: int, before: str, after: str, short: str) -> Mutant:
    """Without its source, which is the whole file's."""
    changed = [
        text
        for text in difflib.unified_diff(_code(before), _code(after), n=0)
        if text[:2] not in ("--", "++", "@@")
    ]
    if not short:
        old = "; ".join(text[1:].strip() for text in changed if text[0] == "-")
        new = "; ".join(text[1:].strip() for text in changed if text[0] == "+")
        short = f"{old} -> {new}"
    diff = "\n".join(f"{text[0]} {text[1:].strip()}" for text in changed)
    return Mutant(
        f"{function} {operator}: {short}",
        function,
        line,
        operator,
        diff,
        "",
        EXERCISES[function.split(".")[0]],
    )


def _code(source: str) -> list[str]:
    """The lines that are not empty, nor comments, nor text."""
    return [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]


_Change = tuple[str, str, int, cst.CSTNode, str]


def _changes(
    definition: cst.FunctionDef | cst.ClassDef,
    lines: Mapping[cst.CSTNode, int],
    parents: Mapping[cst.CSTNode, cst.CSTNode],
    students: frozenset[int],
) -> Iterator[_Change]:
    """For each possible change of a definition: function, operator, line, the whole definition changed, and
    the change in short where the lines that differ do not say it."""
    whole = definition.name.value in WHOLE
    # Another name must be one that stands in the definition, or it would only be a NameError.
    names = _names(definition) | {"rank", "world_size"}
    for function, scope in _functions(definition):
        for block in m.findall(scope, m.IndentedBlock()):
            for at, statement in enumerate(block.body):
                if m.matches(statement, _LEFT_ALONE) or not (whole or lines[statement] in students):
                    continue
                line = lines[statement]
                for name, body, short in _statement_changes(block.body, at):
                    mutated = _replaced(definition, parents, block, block.with_changes(body=body))
                    yield function, name, line, mutated, short
                for node in _expressions(statement):
                    for operator in expressions.OPERATORS:
                        for other in operator(node):
                            if operator is not expressions.name or _names(other) <= names:
                                mutated = _replaced(definition, parents, node, other)
                                yield function, _name(operator), lines[node], mutated, ""


def _replaced(
    definition: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode, other: cst.CSTNode
) -> cst.CSTNode:
    """The definition with another node in a node's place: only what is around it is made anew."""
    while node is not definition:
        parent = parents[node]
        for field in fields(parent):
            value = getattr(parent, field.name)
            if value is node:
                other = parent.with_changes(**{field.name: other})
                break
            if isinstance(value, list | tuple) and any(item is node for item in value):
                items = [other if item is node else item for item in value]
                other = parent.with_changes(**{field.name: items})
                break
        node = parent
    return other


def _names(node: cst.CSTNode) -> set[str]:
    return {found.value for found in m.findall(node, m.Name())}


def _functions(definition: cst.FunctionDef | cst.ClassDef) -> Iterator[tuple[str, cst.FunctionDef]]:
    """A function and its name, or a class's methods with theirs."""
    name = definition.name.value
    if isinstance(definition, cst.FunctionDef):
        yield name, definition
        return
    for method in definition.body.body:
        if isinstance(method, cst.FunctionDef):
            yield f"{name}.{method.name.value}", method


def _statement_changes(body: statements.Body, at: int) -> Iterator[tuple[str, statements.Body, str]]:
    for operator in statements.OPERATORS:
        for count, others in operator(body, at):
            following = list(others)
            # The comments above stay: they hold the solution markers.
            following[0] = following[0].with_changes(leading_lines=body[at].leading_lines)
            short = f"{_short(body[at : at + count])} -> {_short(others)}"
            yield _name(operator), [*body[:at], *following, *body[at + count :]], short


def _short(body: statements.Body) -> str:
    """The code of some statements in one line, which may be cut."""
    text = "; ".join(line.strip() for line in _code(cst.Module(body).code))
    return text if len(text) <= _MOST_OF_A_LINE else f"{text[:_MOST_OF_A_LINE]}…"


def _expressions(statement: cst.BaseStatement) -> Iterator[cst.CSTNode]:
    """The statement's own expressions; those of the statements inside it come with their own block."""
    inner = {id(node) for block in m.findall(statement, m.IndentedBlock()) for node in _all(block)}
    yield from (node for node in _all(statement) if id(node) not in inner)


def _all(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _name(operator: Callable[..., object]) -> str:
    return operator.__name__.replace("_", "-")
