"""Turns a student's file into a module whose functions can be called.

The handout's form is a script: constants, functions, and a driver that runs at import. To call one
function with other sizes, the constants' values are replaced where they are assigned, and the driver is
left out. The file is never changed: this works on its syntax tree, so that line numbers stay true.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType

from grader.exercises.driver_code import without_driver

_SIZES = "__sizes__"
STAFF_NAMES = ("init_distributed", "create_batch", "create_layers", "check", "compare_tensors")


def load_functions(
    path: Path,
    utils: ModuleType,
    sizes: Mapping[str, int],
    rank: int,
    world_size: int,
    initialise: bool,
    entries: Iterable[str] = (),
) -> ModuleType:
    """Execute ``path`` without its driver and return it as a module.

    ``sizes`` replaces module-level constants. ``utils`` is what ``import utils`` finds. ``rank``,
    ``local_rank`` and ``world_size`` are bound beforehand, as the file's first statement would bind them.
    With ``initialise``, the process group is made first (``utils.init_distributed``). A statement that
    calls one of ``entries``, directly or through other functions of the file, belongs to the driver.

    Raises SyntaxError, and whatever the file's own statements raise.
    """
    code = _compile(path.read_bytes(), str(path), frozenset(entries))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    local_rank = rank
    if initialise:
        rank, local_rank, world_size = utils.init_distributed()
    else:
        utils = _without_process_group(utils, rank, world_size)
    module.__dict__.update(rank=rank, local_rank=local_rank, world_size=world_size, **{_SIZES: dict(sizes)})
    with _importable(utils, path, module.__name__, module):
        exec(code, module.__dict__)
    return module


def run_whole_file(path: Path, utils: ModuleType, sizes: Mapping[str, int]) -> None:
    """Execute ``path`` as ``torchrun`` would: whole, as ``__main__``.

    Raises SyntaxError, and whatever the file raises.
    """
    code = _compile(path.read_bytes(), str(path), None)
    module = ModuleType("__main__")
    module.__dict__[_SIZES] = dict(sizes)
    module.__file__ = str(path)
    sys.argv = [str(path)]
    with _importable(utils, path, "__main__", module):
        exec(code, module.__dict__)


def _without_process_group(utils: ModuleType, rank: int, world_size: int) -> ModuleType:
    copy = ModuleType(utils.__name__)
    copy.__dict__.update(utils.__dict__, init_distributed=lambda: (rank, rank, world_size))
    return copy


class _importable:
    """While a student's file is used, ``utils`` and its own name lead to the right modules.

    They stay after the block: functions import late.
    """

    def __init__(self, utils: ModuleType, path: Path, name: str, module: ModuleType) -> None:
        self._modules = {"utils": utils, name: module}
        self._folder = str(path.parent)

    def __enter__(self) -> None:
        sys.modules.update(self._modules)
        if self._folder not in sys.path:
            sys.path.append(self._folder)  # last: a student's torch.py must not shadow torch

    def __exit__(self, *_: object) -> None:
        return None


@lru_cache(maxsize=8)
def _compile(source: bytes, path: str, entries: frozenset[str] | None) -> CodeType:
    """The file's code, without its driver unless ``entries`` is None.

    Sizes are looked up when it runs, so that one compilation serves all cases of a job.
    """
    tree = ast.parse(source, filename=path)
    for block in _blocks(tree):
        block[:] = [_staff_form(statement) for statement in block]
    if entries is not None:
        tree = without_driver(tree, entries)
    for block in _blocks(tree):
        for statement in block:
            _let_sizes_in(statement)
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
    """A definition of a staff function in the file itself gives way to the staff's."""
    if isinstance(statement, ast.FunctionDef) and statement.name in STAFF_NAMES:
        imported = ast.ImportFrom(module="utils", names=[ast.alias(name=statement.name)], level=0)
        return ast.fix_missing_locations(ast.copy_location(imported, statement))
    return statement


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
    sizes, key = ast.Name(_SIZES, ast.Load()), ast.Constant(name)
    known = ast.Compare(key, [ast.In()], [sizes])
    found = ast.IfExp(known, ast.Subscript(sizes, key, ast.Load()), value)
    return ast.fix_missing_locations(ast.copy_location(found, value))
