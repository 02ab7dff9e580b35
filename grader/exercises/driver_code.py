"""Tells a file's driver (what runs the exercises and prints) from what its functions need."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

# Names of torch.distributed that set up or ask: a file's functions may need what they return.
_ASKING = frozenset({"is_initialized", "is_available", "get_rank", "get_world_size", "get_backend"})
_SETTING_UP = _ASKING | {"init_process_group", "new_group", "new_subgroups", "barrier"}
_STAFF_DRIVER_CALLS = frozenset({"compare_tensors"})
_FILLING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_EXITS = frozenset({"exit", "quit", "sys.exit"})
_BOUND_BEFOREHAND = frozenset({"rank", "local_rank", "world_size"})
_WRAPPING = frozenset({"partial", "wraps", "compile", "cache", "lru_cache"})  # call nothing of what they get


def without_driver(tree: ast.Module, entries: frozenset[str]) -> ast.Module:
    """The same file without the statements that run its exercises.

    Kept are imports, functions, classes and assignments. Left out is what calls a function that is one
    of ``entries`` or communicates, directly or through another function or class of the file; what ends the
    process; and, in turn, what uses a name that only such a statement would have bound or filled.
    """
    calls = _Calls.of(tree, entries)
    tree.body = _Filter(calls).statements(tree.body)
    return tree


@dataclass(frozen=True)
class _Calls:
    """Which calls belong to a driver. ``entries`` are the exercises' own functions and ``driving`` all that
    run them; ``distributed`` are the names of torch.distributed in this file, ``communicating`` those of its
    functions that were imported one by one."""

    entries: frozenset[str]
    driving: frozenset[str]
    distributed: frozenset[str]
    communicating: frozenset[str]
    imported: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module, entries: frozenset[str]) -> _Calls:
        """Of a file: its functions and classes that run an exercise or communicate when they are called."""
        modules = {"dist", "torch.distributed"}
        functions, imported = set(), set()
        for statement in ast.walk(tree):
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            origin = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
            for name in statement.names:
                alias = name.asname or name.name
                imported.add(alias.split(".")[0])
                if origin + name.name == "torch.distributed":
                    modules.add(alias)
                elif origin + name.name == "torch":
                    modules.add(f"{alias}.distributed")
                elif origin == "torch.distributed." and name.name not in _SETTING_UP:
                    functions.add(alias)
        definitions = list(_definitions(tree.body))
        calls = cls(entries, entries, frozenset(modules), frozenset(functions), frozenset(imported))
        while True:
            found = {definition.name for definition in definitions if calls._drives(definition)}
            if found <= calls.driving:
                return calls
            calls = replace(calls, driving=calls.driving | found)

    def _drives(self, definition: ast.FunctionDef | ast.ClassDef) -> bool:
        # A layer communicates, too. A class is a driver's when it runs exercises or compares.
        return self.made_in(definition, communication=isinstance(definition, ast.FunctionDef))

    def made_in(self, node: ast.AST, communication: bool = True) -> bool:
        """Whether ``node`` makes such a call."""
        for owner, name in _called_in(node):
            if name in _STAFF_DRIVER_CALLS or (not owner and name in self.driving):
                return True
            if communication and not owner and name in self.communicating:
                return True
            if communication and name not in _SETTING_UP and owner in self.distributed:
                return True
        return False

    def named_in(self, node: ast.AST) -> bool:
        """Whether ``node`` names a driving function, to call it by another name."""
        return any(isinstance(child, ast.Name) and child.id in self.driving for child in ast.walk(node))

    def hands_over(self, statement: ast.stmt) -> bool:
        """Whether ``statement`` gives an exercise's function to another one that may well call it, such as a
        stopwatch, and not to have it back under its own name."""
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in self.entries for target in statement.targets
        ):
            return False
        return any(
            isinstance(argument, ast.Name) and argument.id in self.entries
            for call in ast.walk(statement)
            if isinstance(call, ast.Call) and _called_name(call) not in _WRAPPING
            for argument in (*call.args, *(keyword.value for keyword in call.keywords))
        )


@lru_cache(maxsize=4096)
def _called_in(node: ast.AST) -> frozenset[tuple[str, str]]:
    """What ``node`` calls, as (owner, name): ("dist", "all_reduce"), or ("", "print"). Asked of the same
    definitions again and again."""
    called = set()
    for child in ast.walk(node):
        match child:
            case ast.Call(func=ast.Name(id=name)):
                called.add(("", name))
            case ast.Call(func=ast.Attribute(value=owner, attr=name)):
                called.add((_dotted(owner), name))
    return frozenset(called)


def _called_name(call: ast.Call) -> str:
    return _dotted(call.func).rpartition(".")[2]


def _dotted(owner: ast.expr) -> str:
    """``torch.distributed`` of a chain of names, "?" of anything else."""
    match owner:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=further, attr=name):
            return f"{_dotted(further)}.{name}"
    return "?"


def _definitions(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement
        else:
            nested = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt))
            yield from _definitions(nested)


class _Filter:
    def __init__(self, calls: _Calls) -> None:
        self._calls = calls
        self._lost: set[str] = set()
        self._holders: set[str] = set()  # names of lists and the like in which driving functions are

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [kept for statement in body if (kept := self._keep(statement)) is not None]

    def _keep(self, statement: ast.stmt) -> ast.stmt | None:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            return statement
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            return self._compound(statement)
        if (
            self._calls.made_in(statement)
            or self._calls.hands_over(statement)
            or self._goes_through_holder(statement)
            or self._uses_lost(statement)
            or _ends_the_process(statement)
        ):
            self._leave_out(statement)
            return None
        self._note_holder(statement)
        return statement

    def _note_holder(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets, ast.List() | ast.Tuple() | ast.Set() | ast.Dict() as collection):
                if self._calls.named_in(collection):
                    self._holders |= {name for target in targets for name in _names_in(target)}

    def _goes_through_holder(self, statement: ast.stmt) -> bool:
        """Whether a comprehension in ``statement`` calls what it finds in such a list."""
        return any(
            self._is_held(generator.iter)
            for child in ast.walk(statement)
            for generator in getattr(child, "generators", ())
        )

    def _is_held(self, node: ast.AST) -> bool:
        return self._calls.named_in(node) or not self._holders.isdisjoint(_names_in(node))

    def _leave_out(self, statement: ast.stmt) -> None:
        kept_anyway = self._calls.imported | _BOUND_BEFOREHAND
        self._lost |= {name for name in _bound_or_filled(statement) if name not in kept_anyway}

    def _compound(self, statement: ast.If | ast.Try | ast.With | ast.For | ast.While) -> ast.stmt | None:
        header = [
            child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr | ast.withitem)
        ]
        loop = isinstance(statement, ast.For)
        if any(
            self._calls.made_in(part) or self._uses_lost(part) or (loop and self._is_held(part))
            for part in header
        ):
            self._leave_out(statement)
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
        changed = {id(child.target) for child in ast.walk(node) if isinstance(child, ast.AugAssign)}
        return any(
            isinstance(child, ast.Name)
            and child.id in self._lost
            and (not isinstance(child.ctx, ast.Store) or id(child) in changed)
            for child in ast.walk(node)
        )


def _ends_the_process(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function) in _EXITS
        case ast.Raise(exc=ast.Name(id="SystemExit") | ast.Call(func=ast.Name(id="SystemExit"))):
            return True
    return False


def _bound_or_filled(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, and those whose object it changes (``results["a"] = ...``,
    ``results.append(...)``)."""
    for child in ast.walk(statement):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.Subscript | ast.Attribute) and (
            isinstance(child.ctx, ast.Store) or getattr(child, "attr", "") in _FILLING
        ):
            yield from _root(child)


def _names_in(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def _root(expression: ast.expr) -> Iterator[str]:
    while isinstance(expression, ast.Subscript | ast.Attribute):
        expression = expression.value
    if isinstance(expression, ast.Name):
        yield expression.id
