"""Exceptions that left the student's code, as findings."""

from __future__ import annotations

import re

from grader.judge.artifacts import RankArtifact
from grader.judge.findings import Finding
from grader.judge.record import RaisedError, Record
from grader.judge.text import clean_line

_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError"})
_IMPORT = frozenset({"ImportError", "ModuleNotFoundError"})
_EXITS = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})
_COMMUNICATION = frozenset(
    {
        "RuntimeError",
        "DistError",
        "DistBackendError",
        "DistNetworkError",
        "DistStoreError",
        "ConnectionError",
        "ConnectionResetError",
        "ConnectionAbortedError",
        "ConnectionRefusedError",
        "BrokenPipeError",
    }
)
_PEER_GONE = re.compile(
    r"connection (reset|closed|refused|aborted|was closed)|broken pipe|remote (worker|process)"
    r"|socket (closed|timeout)|timed out waiting"
    r"|application timeout|failed to (recv|send)|read error|write error|peer closed",
    re.IGNORECASE,
)


def is_peer_error(record: Record) -> bool:
    """Whether the exception only says that another rank was gone: a consequence, not a cause."""
    error = record.error
    return error is not None and _kind(error) in _COMMUNICATION and bool(_PEER_GONE.search(error.message))


def raised(artifact: RankArtifact, check: str) -> Finding:
    """The finding for an exception that a rank raised for its own reason. The record must have an error."""
    error = _error(artifact)
    code, message = _name(error)
    return _finding(code, message, check, artifact, error)


def lost_connection(artifact: RankArtifact, check: str) -> Finding:
    """The finding for a rank that lost its peers, where no rank says why."""
    error = _error(artifact)
    message = (
        f"The connection to another rank was lost ({_said(error)}){_at(error)}. The other rank had already "
        "gone: look for one that returns early, or that does not take part in this communication."
    )
    return _finding("exception", message, check, artifact, error)


def _name(error: RaisedError) -> tuple[str, str]:
    kind = _kind(error)
    if kind == "NotImplementedError" and error.message.lstrip().startswith("TODO"):
        return "todo-left", f"This part is still open: {clean_line(error.message)}"
    if kind in _SYNTAX and error.stage == "load":
        return (
            "syntax-error",
            f"Python cannot read the file: {_said(error)}{_at(error)}. Nothing of it can run.",
        )
    if kind in _IMPORT:
        allowed = "Only Python's own library, torch, `utils` and files that were handed in can be imported."
        return "import-error", f"An import failed: {_said(error)}{_at(error)}. {allowed}"
    if kind in _EXITS:
        return "early-exit", (
            f"The code ended the process before the exercise was over ({kind}){_at(error)}. Every rank must "
            "stay until it has returned its result."
        )
    where = "while the file was loaded" if error.stage == "load" else "while the exercise ran"
    return "exception", f"The code stopped {where} with {_said(error)}{_at(error)}."


def _at(error: RaisedError) -> str:
    """``, in the line `x = y```, where the student's own line is known."""
    code = clean_line(error.code or "", 160).replace("`", "'")
    return f", in the line `{code}`" if code else ""


def _said(error: RaisedError) -> str:
    said = clean_line(error.message, 400).rstrip(".")
    return f"{_kind(error)}: {said}" if said else _kind(error)


def _kind(error: RaisedError) -> str:
    return clean_line(error.type, 100).rsplit(".", 1)[-1] or "an exception"


def _error(artifact: RankArtifact) -> RaisedError:
    if artifact.record is None or artifact.record.error is None:
        raise ValueError("this artifact has no exception")
    return artifact.record.error


def _finding(code: str, message: str, check: str, artifact: RankArtifact, error: RaisedError) -> Finding:
    file = clean_line(error.file or "", 200) or None
    return Finding(code, message, check, (artifact.rank,), file, error.line or None)
