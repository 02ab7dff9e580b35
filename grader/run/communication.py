"""Records what a rank communicates, and says so when it stands still in it.

Every operation of torch.distributed goes into the case's log as it begins and as it ends, so that the log
of a rank that hangs or is killed is there too. A thread watches the main one: while that stays inside the
same operation, it tells the warden, which calls a deadlock when no rank of the job can go on.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from grader.run import pipes

_TICK = 0.05  # seconds between two looks at the main thread
_STILL = 3  # looks at the same operation before the warden hears of it
_SAID_EVERY = 2  # looks, from then on
_MOST_OPERATIONS = 1000  # of a case that are logged

_COLLECTIVES = (
    *("all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce"),
    *("all_to_all", "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather"),
    *("gather_object", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single"),
    *("reduce_scatter_tensor", "scatter", "scatter_object_list"),
)
_POINT_TO_POINT = ("send", "recv", "isend", "irecv")


class Communication:
    """The log of one rank. `watch` patches torch.distributed and starts the thread; `begin` opens a case.

    ``folder`` is the submission's: an operation belongs to the innermost line of a file in it.
    """

    def __init__(self, status: int, folder: Path, rank: int) -> None:
        self._status, self._folder, self._rank = status, str(folder) + os.sep, rank
        self._log = -1
        self._count = 0
        self._entered = 0  # changes with every entry and exit of a blocking call
        self._current: dict[str, Any] | None = None
        self._issued: dict[int, dict[str, Any]] = {}

    def watch(self) -> None:
        """Record from now on, in this process."""
        for name in (*_COLLECTIVES, *_POINT_TO_POINT):
            original = getattr(dist, name, None)
            if original is None:
                continue  # not in this version of torch
            wrapped = self._recorded(name, original)
            setattr(dist, name, wrapped)
            if name in ("isend", "irecv"):
                # P2POp accepts these two functions by identity.
                setattr(distributed_c10d, name, wrapped)
        work = torch._C._distributed_c10d.Work
        work.wait = self._waiting(work.wait)  # type: ignore[method-assign]
        threading.Thread(target=self._look, daemon=True, name="communication").start()

    def begin(self, log: Path) -> None:
        """Start the log of a case."""
        if self._log >= 0:
            os.close(self._log)
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._count = 0
        self._write({"began": time.monotonic()})

    def end(self) -> None:
        """The case is over."""
        self._write({"ended": time.monotonic()})

    def _recorded(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._current is not None:  # inside of another operation: that one is the student's
                return original(*args, **kwargs)
            operation = self._describe(name, _signature(original), args, kwargs)
            self._write({**operation, "at": time.monotonic()})
            self._enter(operation)
            try:
                result = original(*args, **kwargs)
            finally:
                self._leave()
            self._write({"done": operation["number"], "at": time.monotonic()})
            if result is not None and hasattr(result, "wait"):
                self._issued[id(result)] = operation
            return result

        return call

    def _waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            operation = self._issued.pop(id(work), None)
            if self._current is not None or operation is None:
                return original(work, *args, **kwargs)
            self._write({"awaited": operation["number"], "at": time.monotonic()})
            self._enter({**operation, "waits": True, **self._place()})
            try:
                result = original(work, *args, **kwargs)
            finally:
                self._leave()
            self._write({"done": operation["number"], "at": time.monotonic()})
            return result

        return wait

    def _describe(self, name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
        self._count += 1
        operation: dict[str, Any] = {"number": self._count, "name": name, **self._place()}
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return operation  # torch will say what is wrong with it
        for key in ("src", "dst"):
            if isinstance(given.get(key), int):
                operation[key] = given[key]
        if given.get("group") is not None and given["group"] is not dist.group.WORLD:
            operation["subgroup"] = True
        if "op" in given:
            operation["op"] = str(given["op"]).rsplit(".", 1)[-1][:40]
        tensors = [tensor for value in given.values() for tensor in _tensors(value)]
        if tensors:
            own = given.get("tensor", tensors[-1])
            tensor = own if isinstance(own, torch.Tensor) else tensors[-1]
            operation |= {"shape": list(tensor.shape), "dtype": str(tensor.dtype)}
        return operation

    def _place(self) -> dict[str, Any]:
        """The innermost line of the student's own files."""
        frame = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self._folder):
                return {"file": file.removeprefix(self._folder), "line": frame.f_lineno}
            frame = frame.f_back  # type: ignore[assignment]
        return {}

    def _enter(self, operation: dict[str, Any]) -> None:
        self._entered += 1
        self._current = operation

    def _leave(self) -> None:
        self._current = None
        self._entered += 1

    def _write(self, line: dict[str, Any]) -> None:
        if self._count <= _MOST_OPERATIONS and self._log >= 0:
            try:
                os.write(self._log, json.dumps(line).encode() + b"\n")
            except OSError:
                return  # a full disk is the job's own affair

    def _look(self) -> None:
        seen, same, told = 0, 0, False
        while True:
            time.sleep(_TICK)
            operation, entered = self._current, self._entered
            if operation is None or entered != seen:
                if told:
                    pipes.say(self._status, "goes-on")
                seen, same, told = entered, 0, False
                continue
            same += 1
            if same >= _STILL and (same - _STILL) % _SAID_EVERY == 0:
                pipes.say(self._status, "waits", operation=operation)
                told = True


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, torch.Tensor)]
    return []
