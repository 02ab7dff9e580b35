"""Turns a student's file into a module whose functions can be called.

The handout's form is a script: constants, functions, and a driver that runs at import. To call one
function with other sizes, the constants' values are replaced where they are assigned, and the driver is
left out (see `rewriting`). The file is never changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from grader.exercises import rewriting


def load_functions(
    path: Path,
    utils: ModuleType,
    sizes: Mapping[str, int],
    rank: int,
    world_size: int,
    initialise: bool,
    entries: Iterable[str] = (),
    renamed: frozenset[str] = frozenset(),
) -> ModuleType:
    """Execute ``path`` without its driver and return it as a module.

    ``sizes`` replaces module-level constants. ``utils`` is what ``import utils`` finds. ``rank``,
    ``local_rank`` and ``world_size`` are bound beforehand, as the file's first statement would bind them.
    With ``initialise``, the process group is made first (``utils.init_distributed``). A statement that
    calls one of ``entries``, directly or through other functions of the file, belongs to the driver.
    ``renamed`` is that of the `own_modules.OwnModules` which find the student's further files, if any do.

    Raises SyntaxError, and whatever the file's own statements raise.
    """
    code = rewriting.lab_file(path.read_bytes(), str(path), frozenset(entries), renamed)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    local_rank = rank
    if initialise:
        rank, local_rank, world_size = utils.init_distributed()
    else:
        utils = _without_process_group(utils, rank, world_size)
    module.__dict__.update(rank=rank, local_rank=local_rank, world_size=world_size)
    module.__dict__[rewriting.SIZES] = dict(sizes)
    with _importable(utils, path, module.__name__, module):
        exec(code, module.__dict__)
    return module


def run_whole_file(
    path: Path, utils: ModuleType, sizes: Mapping[str, int], renamed: frozenset[str] = frozenset()
) -> None:
    """Execute ``path`` as ``torchrun`` would: whole, as ``__main__``. For ``renamed`` see `load_functions`.

    Raises SyntaxError, and whatever the file raises.
    """
    code = rewriting.lab_file(path.read_bytes(), str(path), None, renamed)
    module = ModuleType("__main__")
    module.__dict__[rewriting.SIZES] = dict(sizes)
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
