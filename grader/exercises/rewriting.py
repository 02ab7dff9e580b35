"""What is changed in a student's source before it is executed: on its syntax tree, so that lines stay true.

Constants that a case sets take its value where they are assigned; the staff's functions take the place of
copies of them; the driver is left out where only functions are wanted; and imports of a student's own file
that has the name of a standard module lead to that file (see `own_modules`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from grader.exercises.driver_code import without_driver
from grader.module_names import own_name

#: The name under which a module that was compiled here looks up the values of its constants.
SIZES = "__sizes__"
STAFF_NAMES = ("init_distributed", "create_batch", "create_layers", "check", "compare_tensors")

#: The staff's functions with the names of their parameters.
Signatures = frozenset[tuple[str, tuple[str, ...]]]


@lru_cache(maxsize=8)
def lab_file(source: bytes, path: str, entries: frozenset[str] | None, renamed: frozenset[str]) -> CodeType:
    """The code of the file that is graded, without its driver unless ``entries`` is None.

    ``renamed`` are the standard modules' names that the student's own files have. Sizes are looked up when it
    runs, so that one compilation serves all cases of a job. Raises SyntaxError.
    """
    tree = ast.parse(source, filename=path)
    for block in _blocks(tree):
        block[:] = [_staff_form(statement) for statement in block]
    if entries is not None:
        tree = without_driver(tree, entries)
    return _compiled(tree, path, renamed)


@lru_cache(maxsize=64)
def own_module(source: bytes, path: str, signatures: Signatures, renamed: frozenset[str]) -> CodeType:
    """The code of a module that the student wrote beside that file. Raises SyntaxError.

    The file that is graded must use the staff's functions under their names; a module of one's own may well
    have a ``check`` or ``create_layers`` that is something else. So only a copy gives way here, told by its
    parameters: data must come from the staff's functions to be what a case asks about, and only their
    ``compare_tensors`` leaves its operands.
    """
    tree = ast.parse(source, filename=path)
    for block in _blocks(tree):
        block[:] = [
            _staff_form(statement) if _signature(statement) in signatures else statement
            for statement in block
        ]
    return _compiled(tree, path, renamed)


def _compiled(tree: ast.Module, path: str, renamed: frozenset[str]) -> CodeType:
    for block in _blocks(tree):
        for statement in block:
            _let_sizes_in(statement)
    if renamed:
        _Renaming(renamed).visit(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements at module level: the module's own, and those of its if, try, with and loops."""
    for field in ("body", "orelse", "finalbody"):
        if block := getattr(node, field, None):
            yield block
            for statement in block:
                if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
                    yield from _blocks(statement)
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)


def _staff_form(statement: ast.stmt) -> ast.stmt:
    """A definition of a staff function gives way to the staff's."""
    if isinstance(statement, ast.FunctionDef) and statement.name in STAFF_NAMES:
        imported = ast.ImportFrom(module="utils", names=[ast.alias(name=statement.name)], level=0)
        return ast.fix_missing_locations(ast.copy_location(imported, statement))
    return statement


def _signature(statement: ast.stmt) -> tuple[str, tuple[str, ...]] | None:
    if not isinstance(statement, ast.FunctionDef):
        return None
    given = statement.args
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return statement.name, tuple(parameter.arg for parameter in every if parameter is not None)


def _let_sizes_in(statement: ast.stmt) -> None:
    """Let a module-level assignment to a plain name take its value from the sizes, where they have one."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            statement.value = _replaced(target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        statement.value = _replaced(statement.target, statement.value)


def _replaced(target: ast.expr, value: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return _looked_up(target.id, value)
    lists = ast.Tuple | ast.List
    if isinstance(target, lists) and isinstance(value, lists) and len(target.elts) == len(value.elts):
        value.elts = [_replaced(name, part) for name, part in zip(target.elts, value.elts, strict=True)]
    return value


def _looked_up(name: str, value: ast.expr) -> ast.expr:
    """``__sizes__["name"] if "name" in __sizes__ else value``."""
    sizes, key = ast.Name(SIZES, ast.Load()), ast.Constant(name)
    known = ast.Compare(key, [ast.In()], [sizes])
    found = ast.IfExp(known, ast.Subscript(sizes, key, ast.Load()), value)
    return ast.fix_missing_locations(ast.copy_location(found, value))


class _Renaming(ast.NodeTransformer):
    """Every import of one of ``names``, wherever it stands, asks for the student's own module."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def visit_Import(self, node: ast.Import) -> ast.Import:
        node.names = [new for alias in node.names for new in self._own(alias)]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.level == 0 and node.module and node.module.split(".")[0] in self._names:
            node.module = own_name(node.module)
        return node

    def _own(self, alias: ast.alias) -> Iterator[ast.alias]:
        top = alias.name.split(".")[0]
        if top not in self._names:
            yield alias
            return
        yield ast.copy_location(ast.alias(own_name(alias.name), alias.asname or top), alias)
        if top != alias.name and not alias.asname:  # import a.b imports a.b, and binds a
            yield ast.copy_location(ast.alias(own_name(top), top), alias)
