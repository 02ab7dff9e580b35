"""What a rank leaves behind for one case: a bounded JSON record and its tensors (see RECORD.md)."""

from __future__ import annotations

import json
import linecache
import os
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from safetensors.torch import save_file

from grader.job import Limits

_TEXT = 2000  # characters of a student's text that a record holds
_TRACEBACK = 4000
_LAST_LINE = 10_000_000  # a student's code object may claim any
# Those that a safetensors file can hold, as every version of it reads them.
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
_DTYPES = frozenset((*_FLOATS, *_INTEGERS))


@dataclass
class Record:
    """One case of one rank, filled in as it runs."""

    run: str
    case: int
    rank: int
    world_size: int
    artifact_mb: int = Limits.artifact_mb
    outcome: str = ""
    message: str = ""
    error: dict[str, Any] | None = None
    tensors: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    work: dict[str, Any] | None = None
    seconds: float = 0.0
    values: dict[str, torch.Tensor] = field(default_factory=dict)

    def returned(self, values: dict[str, object]) -> None:
        """Keep what the student's code gave back, by name; say of each value what it is."""
        self.outcome = "returned"
        left = self.artifact_mb << 20
        for name, value in values.items():
            problem = _why_not_plain(value) or _too_large(value, left, self.artifact_mb)
            if problem:
                self.problems[name] = problem
                continue
            assert isinstance(value, torch.Tensor)
            left -= value.numel() * value.element_size()
            self.tensors[name] = {"dtype": str(value.dtype), "shape": list(value.shape)}
            self.values[name] = value

    def wrong_type(self, message: str) -> None:
        self.outcome, self.message = "wrong-type", message[:_TEXT]

    def missing(self, file: str, names: tuple[str, ...]) -> None:
        self.outcome = "missing"
        self.message = f"{file} does not define {' and '.join(names)}."

    def raised(self, error: dict[str, Any]) -> None:
        self.outcome, self.error = "raised", error


def _why_not_plain(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return f"it is of type {type(value).__name__}, not a tensor"
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"it is of type {type(value).__name__}, a subclass of torch.Tensor"
    if value.layout != torch.strided or value.is_quantized or value.device.type == "meta":
        return f"it is no plain dense tensor (layout {value.layout}, device {value.device})"
    if value.dtype not in _DTYPES:
        return f"it has dtype {value.dtype}"
    return ""


def _too_large(value: object, left: int, artifact_mb: int) -> str:
    assert isinstance(value, torch.Tensor)
    if value.numel() * value.element_size() <= left:
        return ""
    return f"it has shape {list(value.shape)}: the tensors of a rank are more than {artifact_mb} MiB together"


def write(record: Record, folder: Path) -> None:
    """Write the record and its tensors; the record last, so that its presence says that both are whole."""
    stem = folder / f"case{record.case}-rank{record.rank}"
    if record.values:
        plain = {name: _plain(value) for name, value in record.values.items()}
        save_file(plain, stem.with_suffix(".safetensors"))
    names = ("run", "case", "rank", "world_size", "outcome", "message", "error", "tensors", "problems")
    data = {name: getattr(record, name) for name in (*names, "comparisons", "work", "seconds")}
    partial = stem.with_suffix(".partial")
    partial.write_text(json.dumps(data))
    os.replace(partial, stem.with_suffix(".json"))


def _plain(value: torch.Tensor) -> torch.Tensor:
    """A copy on the CPU that shares nothing: save_file refuses tensors that share storage."""
    return torch.empty(value.shape, dtype=value.dtype, device="cpu").copy_(value.detach())


def describe_error(error: BaseException, student_folder: Path) -> dict[str, Any]:
    """The exception as the student should see it: their own innermost line, and their part of the traceback.

    ``stage`` is "load" while the file's own statements run, else "call".
    """
    frames = _student_frames(error.__traceback__, student_folder)
    if isinstance(error, SyntaxError) and _is_inside(error.filename, student_folder):
        frames.append((str(error.filename), error.lineno or 0, "<module>"))
    file, line, _ = frames[-1] if frames else ("", 0, "")
    return {
        "type": type(error).__name__[:_TEXT],
        "message": _message(error),
        "stage": "load" if frames and all(name == "<module>" for _, _, name in frames) else "call",
        "file": os.path.relpath(file, student_folder) if file else "",
        "line": min(max(line, 0), _LAST_LINE),
        "code": linecache.getline(file, line).strip()[:_TEXT] if file else "",
        "traceback": _shown(frames, error, student_folder),
    }


def _student_frames(trace: TracebackType | None, folder: Path) -> list[tuple[str, int, str]]:
    return [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(trace)
        if _is_inside(frame.f_code.co_filename, folder)
    ]


def _is_inside(file: object, folder: Path) -> bool:
    """``file`` may be anything: a student can raise a SyntaxError of their own making."""
    return isinstance(file, str) and Path(file).is_relative_to(folder)


def _message(error: BaseException) -> str:
    """The exception's text: asking for it runs the student's code, which may raise in turn."""
    try:
        return str(error)[:_TEXT]
    except BaseException:
        return "(the exception's own text could not be made)"


def _shown(frames: list[tuple[str, int, str]], error: BaseException, folder: Path) -> str:
    lines = []
    for file, line, name in frames:
        lines.append(f'  File "{os.path.relpath(file, folder)}", line {line}, in {name}')
        lines.append(f"    {linecache.getline(file, line).strip()}")
    return "\n".join([*lines, f"{type(error).__name__}: {_message(error)}"])[-_TRACEBACK:]
