"""Tells a file's driver (what runs the exercises and prints) from what its functions need."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Names of torch.distributed that set up or ask, and communicate nothing that a driver would.
_SETTING_UP = frozenset(
    ["init_process_group", "is_initialized", "is_available", "get_rank", "get_world_size", "get_backend"]
)
_STAFF_DRIVER_CALLS = frozenset({"compare_tensors"})


def without_driver(tree: ast.Module, entries: frozenset[str]) -> ast.Module:
    """The same file without the statements that run its exercises.

    Kept are imports, functions, classes and assignments. Left out is what calls a function that is one
    of ``entries`` or communicates, directly or through another function of the file; and, in turn, what
    uses a name that only such a statement would have bound.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    driving = _driving(functions, entries)
    tree.body = _Filter(driving).statements(tree.body)
    return tree


def _driving(functions: dict[str, ast.FunctionDef], entries: frozenset[str]) -> frozenset[str]:
    """The functions of the file that run an exercise or communicate when they are called."""
    driving = set(entries & functions.keys())
    grew = True
    while grew:
        grew = False
        for name, function in functions.items():
            if name not in driving and _communicates(function, frozenset(driving)):
                driving.add(name)
                grew = True
    return frozenset(driving)


def _communicates(node: ast.AST, driving: frozenset[str]) -> bool:
    for call in (child for child in ast.walk(node) if isinstance(child, ast.Call)):
        match call.func:
            case ast.Name(id=name) if name in driving or name in _STAFF_DRIVER_CALLS:
                return True
            case ast.Attribute(value=owner, attr=name) if _is_distributed(owner) and name not in _SETTING_UP:
                return True
    return False


def _is_distributed(owner: ast.expr) -> bool:
    return ast.unparse(owner) in ("dist", "torch.distributed", "distributed")


class _Filter:
    def __init__(self, driving: frozenset[str]) -> None:
        self._driving = driving
        self._lost: set[str] = set()

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [kept for statement in body if (kept := self._keep(statement)) is not None]

    def _keep(self, statement: ast.stmt) -> ast.stmt | None:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            return statement
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            return self._compound(statement)
        if _communicates(statement, self._driving) or self._uses_lost(statement):
            self._lost |= set(_bound(statement))
            return None
        return statement

    def _compound(self, statement: ast.If | ast.Try | ast.With | ast.For | ast.While) -> ast.stmt | None:
        header = [
            child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr | ast.withitem)
        ]
        if any(_communicates(part, self._driving) or self._uses_lost(part) for part in header):
            self._lost |= set(_bound(statement))
            return None
        statement.body = self.statements(statement.body) or [ast.copy_location(ast.Pass(), statement)]
        if not isinstance(statement, ast.With):
            statement.orelse = self.statements(statement.orelse)
        if isinstance(statement, ast.Try):
            statement.finalbody = self.statements(statement.finalbody)
            for handler in statement.handlers:
                handler.body = self.statements(handler.body) or [ast.copy_location(ast.Pass(), handler)]
        return statement

    def _uses_lost(self, node: ast.AST) -> bool:
        return any(
            isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and child.id in self._lost
            for child in ast.walk(node)
        )


def _bound(statement: ast.stmt) -> Iterator[str]:
    for child in ast.walk(statement):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
