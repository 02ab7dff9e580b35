"""How the modules that a student wrote beside the graded file are found and loaded.

When ``torchrun`` runs a file, its folder is where imports look first. A rank has it last in the search path,
and would get the files as they are; so a finder comes before all others, for what lies in that folder. It
gives the constants of a module the values of the case, as in the graded file itself.

A file may have the name of a standard module (``profile.py``, ``queue.py``) that torch or the grader has
imported, or will. One entry of ``sys.modules`` cannot hold both, and an importer cannot tell by it which of
them it gets. So the student's is a module of another name (`grader.module_names.own_name`), which the import
statements of the student's own files ask for (`rewriting`); everybody else's find the standard one. What a
student asks for by ``importlib.import_module("profile")`` is the standard one, too.

No boundary is drawn here: the process is the student's anyway.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from grader.exercises import rewriting
from grader.module_names import KEPT_OUT, STANDARD, plain_name


class OwnModules(MetaPathFinder):
    """The modules in ``folder``. ``sizes`` are the case's; ``staff`` has the functions that take the place of
    copies. `install` lets imports find them, in place of those of the case before."""

    def __init__(self, folder: Path, sizes: Mapping[str, int], staff: ModuleType) -> None:
        self._folder, self._sizes = folder, dict(sizes)
        functions = [(name, getattr(staff, name, None)) for name in rewriting.STAFF_NAMES]
        self._signatures = frozenset(
            (name, tuple(inspect.signature(function).parameters)) for name, function in functions if function
        )
        #: The standard modules' names that files of the folder have.
        self.renamed = frozenset(name for name in STANDARD - KEPT_OUT if self._file_of(name, folder))

    def install(self) -> None:
        """Come first, for every import of this process from now on."""
        others = [finder for finder in sys.meta_path if not isinstance(finder, OwnModules)]
        sys.meta_path[:] = [self, *others]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module or package in the folder; None for what others find.

        A folder without an ``__init__.py`` is found by others, as a last resort, and what is in it by this.
        """
        name = plain_name(fullname)
        if path is None:
            taken = name in self.renamed if name != fullname else name not in KEPT_OUT | STANDARD
            return self._spec(fullname, self._folder) if taken else None
        for place in map(Path, path):
            if place.is_relative_to(self._folder) and (spec := self._spec(fullname, place)):
                return spec
        return None

    def execute(self, path: Path, module: ModuleType) -> None:
        """Execute a file as one of these modules. Raises OSError, SyntaxError, and what the file raises."""
        code = self.compiled(path.read_bytes(), str(path))
        self.prepare(module)
        exec(code, module.__dict__)

    def compiled(self, source: bytes, path: str) -> CodeType:
        """The code of one of these modules. Raises SyntaxError."""
        return rewriting.own_module(source, path, self._signatures, self.renamed)

    def prepare(self, module: ModuleType) -> None:
        """Give a module what its code looks up."""
        module.__dict__[rewriting.SIZES] = self._sizes

    def _spec(self, fullname: str, place: Path) -> ModuleSpec | None:
        file = self._file_of(plain_name(fullname).rpartition(".")[2], place)
        if file is None:
            return None
        loader = _Loader(fullname, str(file), self)
        within = [str(file.parent)] if file.name == "__init__.py" else None
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=within)

    @staticmethod
    def _file_of(name: str, place: Path) -> Path | None:
        files = (place / name / "__init__.py", place / f"{name}.py")
        return next((file for file in files if os.path.isfile(file)), None)


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, own: OwnModules) -> None:
        super().__init__(fullname, path)
        self._own = own

    def get_code(self, fullname: str) -> CodeType:
        """Compiled from the source: what was left in a ``__pycache__`` knows no sizes."""
        path = self.get_filename(fullname)
        return self._own.compiled(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        self._own.prepare(module)
        super().exec_module(module)
