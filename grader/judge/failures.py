"""Why a rank came back with nothing, from its record and from how the job ended.

One cause is looked for: what a rank did for its own reason explains the peers that then lost their
connection, waited for ever or were stopped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.exercises.contract import Case
from grader.job import JobResult
from grader.judge.artifacts import RankArtifact
from grader.judge.findings import Finding, merge_findings
from grader.judge.raised import is_peer_error, lost_connection, raised
from grader.judge.text import clean_line

_LIMITS = {
    "time-limit": (
        "The run was stopped at its time limit{detail} before every rank had come back. Either a loop does "
        "not end, or ranks wait for each other in communication: every rank must make the same collective "
        "calls in the same order, and each send needs its receive."
    ),
    "memory-limit": (
        "The run was stopped at its memory limit{detail}. Look for tensors that grow in a loop or whose "
        "shape is much larger than meant."
    ),
    "process-limit": "The run was stopped at its limit of processes{detail}. None are needed.",
    "output-limit": (
        "The run was stopped because it printed or wrote more than is allowed{detail}. Look for a print in "
        "a loop."
    ),
}

# Limits by which a rank may fail in its own code (no thread can be started, the disk is full) just before
# the run is stopped.
_USED_UP = ("memory-limit", "process-limit", "output-limit")


def explain_failures(
    case: Case, case_index: int, result: JobResult, artifacts: Sequence[RankArtifact], file: str
) -> tuple[Finding, ...]:
    """Findings for the ranks without a returned value; empty when every rank returned.

    ``file`` is the lab's, for messages that have no better place.
    """
    own = [found for artifact in artifacts if (found := _own_failure(artifact, case.check, file))]
    if own and result.ended in _USED_UP:
        ranks = tuple(artifact.rank for artifact in artifacts if not artifact.returned)
        return (_over_a_limit(case, result, ranks),)
    if own:
        return merge_findings(own)
    gone = tuple(artifact.rank for artifact in artifacts if artifact.record is None)
    if gone:
        return merge_findings(_explain_gone(case, case_index, result, artifacts, gone))
    lost = [lost_connection(a, case.check) for a in artifacts if a.record and a.record.outcome == "raised"]
    return merge_findings(lost)


def _own_failure(artifact: RankArtifact, check: str, file: str) -> Finding | None:
    record = artifact.record
    if record is None or record.outcome == "returned":
        return None
    ranks = (artifact.rank,)
    if record.outcome == "missing":
        message = clean_line(record.message or "An entry of this exercise is not defined.", 500)
        return Finding(
            "function-missing", f"{message} Its name is part of the assignment.", check, ranks, file
        )
    if record.outcome == "wrong-type":
        message = clean_line(record.message or "The function returned something else than it should.", 500)
        return Finding("wrong-type", message, check, ranks, file)
    return None if is_peer_error(record) else raised(artifact, check)


def _explain_gone(
    case: Case, case_index: int, result: JobResult, artifacts: Sequence[RankArtifact], gone: tuple[int, ...]
) -> list[Finding]:
    detail = clean_line(result.detail, 200)
    if result.ended in _LIMITS:
        return [_over_a_limit(case, result, gone)]
    ends = {end.rank: end for end in result.ranks}
    left = tuple(
        rank for rank in gone if rank in ends and not ends[rank].finished and ends[rank].case >= case_index
    )
    if result.ended == "died" and left:
        # The launcher ends the peers of a rank that was killed: they left nothing either, and are not meant.
        killed = re.search(r"\brank (\d+) by SIG", detail)
        meant = (int(killed[1]),) if killed and int(killed[1]) in left else left
        return [_left_early(detail, case.check, meant)]
    if result.ended == "died" and all(rank not in ends or ends[rank].case < case_index for rank in gone):
        message = "These ranks never began this case: the run had ended before, in an earlier one."
        return [Finding("rank-missing", message, case.check, gone)]
    reasons = {artifact.rank: artifact.problem for artifact in artifacts}
    why = "; ".join(f"rank {rank}: {clean_line(reasons[rank])}" for rank in gone)
    return [Finding("rank-missing", f"Some ranks left no result that can be read ({why}).", case.check, gone)]


def _over_a_limit(case: Case, result: JobResult, ranks: tuple[int, ...]) -> Finding:
    shown = f" ({clean_line(result.detail, 200)})" if result.detail else ""
    return Finding(result.ended, _LIMITS[result.ended].format(detail=shown), case.check, ranks)


def _left_early(detail: str, check: str, ranks: tuple[int, ...]) -> Finding:
    signal = re.search(r"\bSIG[A-Z0-9]+\b", detail)
    if signal:
        message = (
            f"The process was ended by {signal[0]}. That comes from a crash below Python, such as a receive "
            "buffer that is smaller than the message, or from a process that ends itself."
        )
        return Finding("killed", message, check, ranks)
    message = (
        "The process ended before the exercise was over, without an exception. Look for `sys.exit`, `exit` "
        "or `os._exit`, and for a receive buffer that is smaller than its message, which ends the process."
    )
    return Finding("early-exit", message, check, ranks)
