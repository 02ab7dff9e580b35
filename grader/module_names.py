"""Which names of modules a student's own files can have, and what a file that shares one is called."""

from __future__ import annotations

import sys

#: The standard library's top-level names. The interpreter's list leaves out its own tests.
STANDARD = frozenset(sys.stdlib_module_names) | {"test"}

# Frozen in the interpreter, or loaded before any script: whatever lies beside a script, it gets the standard
# module. So it does of those that are built in, and of all whose name begins with an underscore, near enough.
_FOUND_BEFORE = """
    abc codecs encodings genericpath importlib io marshal ntpath os posix posixpath runpy site stat sys time
    zipimport
"""
# With an empty file of this name beside a script, its `import torch` fails: nobody can have worked so. Seen
# with Python 3.11 and torch 2.13. What torch imports and can do without until later is not among them, nor
# is `queue`: a file of that name will have a class Queue, which is all that is asked of it at first.
_NEEDED_BY_TORCH = """
    ast asyncio base64 binascii bisect cmath collections concurrent contextlib contextvars copy copyreg ctypes
    dataclasses datetime dis email enum functools gettext glob heapq http inspect itertools json keyword
    linecache logging math mmap multiprocessing numbers opcode operator pathlib pickle platform pprint quopri
    random re reprlib select selectors signal socket ssl string struct subprocess tempfile textwrap threading
    timeit token tokenize traceback types typing unittest urllib warnings weakref zlib
"""
# What the grader runs on, what Python and pytest import by themselves.
_OURS = frozenset(("conftest", "grader", "numpy", "safetensors", "sitecustomize", "torch", "usercustomize"))

RESERVED = _OURS.union(
    _FOUND_BEFORE.split(),
    _NEEDED_BY_TORCH.split(),
    sys.builtin_module_names,
    (name for name in STANDARD if name.startswith("_")),
)
"""Names of modules that a file beside the submission would hide from torch, the grader or Python itself, or
that lead elsewhere in any case. Such a file stays out of the sandbox."""

KEPT_OUT = RESERVED | {"utils"}
"""Names that never lead to a file of the student's: these, and the staff's module."""

_PREFIX = "submission:"  # no file and no import statement can have that in its name


def own_name(name: str) -> str:
    """What a student's module ``name`` is called in ``sys.modules`` when a standard one has its name. It is
    shown where Python names a module (``cannot import name 'f' from 'submission:profile'``)."""
    return _PREFIX + name


def plain_name(name: str) -> str:
    """The reverse of `own_name`; a name that it did not make is given back as it is."""
    return name.removeprefix(_PREFIX)
