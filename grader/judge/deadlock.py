"""Who waited where for whom, and where the ranks' communication parted.

Asked only of cases that failed: in a right submission ranks may well differ in what they call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import prod

from grader.exercises.contract import Case
from grader.job import JobResult
from grader.judge.findings import Finding, name_ranks
from grader.judge.operations import Operation, logs, waiting

_SAME_ORDER = "Every rank must make the same collective calls in the same order"

Logs = Mapping[int, Sequence[Operation]]


def explain_communication(
    case: Case, case_index: int, result: JobResult, values_wrong: bool
) -> Finding | None:
    """Where the communication of a failed case went wrong, or None when nothing is seen in it.

    ``values_wrong``: the ranks came back, with wrong values. Only then do collectives that fit together but
    were called from other lines, in another order, say anything.
    """
    by_rank = logs(result, case_index)
    stuck = waiting(result, case_index) if _was_running(result, case_index) else {}
    if (nobody := _no_such_rank(case, by_rank)) is not None:
        return nobody
    parted = _parted(by_rank)
    if parted is not None:
        return _mismatch(case, parted, tuple(by_rank))
    if (message := _messages_differ(case, by_rank)) is not None:
        return message
    if stuck:
        return _stuck(case, stuck)
    if result.ended == "deadlock" and _was_running(result, case_index):
        return Finding("deadlock", f"No rank could go on. {_SAME_ORDER}.", case.check, tuple(by_rank))
    return _crossed(case, by_rank) if values_wrong else None


def _no_such_rank(case: Case, by_rank: Logs) -> Finding | None:
    """A message to or from a rank that does not exist. It may wait for ever or end the process, so what else
    is seen of it differs from run to run."""
    for log in by_rank.values():
        for operation in log:
            if operation.is_message and operation.peer is not None and operation.peer >= case.world_size:
                callers = {r for r, own in by_rank.items() if any(o.peer == operation.peer for o in own)}
                message = (
                    f"There is no rank {operation.peer}: the ranks are 0 to {case.world_size - 1}. "
                    f"{name_ranks(callers).capitalize()} called {operation}. Look at how the neighbour's "
                    "rank is computed at the first and the last rank."
                )
                return Finding(
                    "rank-never-arrived", message, case.check, tuple(sorted(callers)), *_place(operation)
                )
    return None


def _was_running(result: JobResult, case_index: int) -> bool:
    cases = [end.case for end in result.ranks if end.waits is not None]
    return result.ended == "deadlock" and (not cases or min(cases) == case_index)


def _collectives(log: Sequence[Operation]) -> list[Operation]:
    return [operation for operation in log if not operation.is_message and not operation.subgroup]


def _parted(by_rank: Logs) -> dict[int, Operation] | None:
    """The first collectives, in order, that do not fit together, of the ranks that came so far: where two
    do not fit, gloo may end a rank before the others have come."""
    for at in zip_longest(*(_collectives(log) for log in by_rank.values())):
        came = {rank: operation for rank, operation in zip(by_rank, at, strict=True) if operation}
        if any(not operation.meets(next(iter(came.values()))) for operation in came.values()):
            return came
    return None


def _mismatch(case: Case, parted: Mapping[int, Operation], ranks: tuple[int, ...]) -> Finding:
    same_call = len({(op.name, op.src, op.dst, op.op) for op in parted.values()}) == 1
    if same_call:
        shown = _grouped(parted, lambda op: f"{op} with {op.tensor}")
        told = f"The tensors do not fit together: {shown}. {_SAME_ORDER}, with tensors of one shape and dtype"
    else:
        shown = _grouped(parted, lambda op: f"{op}{f' ({op.op})' if op.op else ''}")
        told = f"The ranks met with different operations: {shown}. {_SAME_ORDER}"
    odd = _fewest(parted)
    line = parted[odd].line
    where = f": look at what decides whether a rank comes to line {line}" if not same_call and line else ""
    return Finding("collective-mismatch", f"{told}{where}.", case.check, ranks, *_place(parted[odd]))


def _messages_differ(case: Case, by_rank: Logs) -> Finding | None:
    """A send and the receive that takes it, whose tensors differ: gloo copies what fits, or ends the rank."""
    for sender, log in by_rank.items():
        for receiver in by_rank:
            sent = [op for op in log if op.name.endswith("send") and op.dst == receiver]
            taken = [op for op in by_rank[receiver] if op.name.endswith("recv") and op.src == sender]
            for send, recv in zip(sent, taken, strict=False):
                if send.shape is None or recv.shape is None:
                    continue
                if (prod(send.shape), send.dtype) != (prod(recv.shape), recv.dtype):
                    message = (
                        f"Rank {sender} sends {send.tensor} at {send.place}, and rank {receiver} receives "
                        f"it into {recv.tensor} at {recv.place}. Neither size nor dtype is checked on the "
                        "way: what arrives is wrong or incomplete. Make the buffer like the message."
                    )
                    ranks = tuple(sorted({sender, receiver}))
                    return Finding("message-mismatch", message, case.check, ranks, *_place(recv))
    return None


def _stuck(case: Case, stuck: Mapping[int, Operation]) -> Finding:
    shown = _grouped(stuck, str, verb="waits", verbs="wait")
    absent = tuple(rank for rank in range(case.world_size) if rank not in stuck)
    ranks = tuple(stuck)
    first = stuck[min(stuck)]
    if all(op.is_message for op in stuck.values()):
        if any(op.peer in absent for op in stuck.values()):
            code, told = "rank-never-arrived", f"{name_ranks(absent).capitalize()} had finished by then."
        else:
            code = "send-recv-order"
            told = (
                "Each waits for another that waits itself: a send ends only when its receive has begun. "
                "Let one side of each pair receive first."
            )
    elif absent or any(op.is_message for op in stuck.values()):
        code = "rank-never-arrived"
        elsewhere = absent or tuple(rank for rank, op in stuck.items() if op.is_message)
        came = "had finished without coming there" if absent else "is not there"
        told = (
            f"{name_ranks(elsewhere).capitalize()} {came}. {_SAME_ORDER}: look for an `if` on the rank or an "
            "early return before that line."
        )
    else:
        code, told = "deadlock", f"No rank can go on. {_SAME_ORDER}, in the same group."
    return Finding(code, f"{shown[0].upper()}{shown[1:]}. {told}", case.check, ranks, *_place(first))


def _crossed(case: Case, by_rank: Logs) -> Finding | None:
    """The same lines on every rank, and not in the same order: equal shapes cross without an error."""
    sequences = {rank: _collectives(log) for rank, log in by_rank.items()}
    lines = {rank: [op.line for op in sequence] for rank, sequence in sequences.items()}
    if len({tuple(sorted(each)) for each in lines.values()}) != 1 or len({*map(tuple, lines.values())}) == 1:
        return None
    for at in zip_longest(*sequences.values()):
        if len({op.line for op in at}) > 1:
            parted = dict(zip(sequences, at, strict=True))
            shown = _grouped(parted, str)
            message = (
                f"The ranks come to the same collectives in another order: {shown}. Their tensors have one "
                f"shape, so they are exchanged all the same, each with another's. {_SAME_ORDER}."
            )
            odd = parted[_fewest(parted)]
            return Finding("collective-mismatch", message, case.check, tuple(parted), *_place(odd))
    return None


def _grouped(
    operations: Mapping[int, Operation],
    show: Callable[[Operation], str],
    verb: str = "is",
    verbs: str = "are",
) -> str:
    """``rank 0 is in all_reduce at line 94, ranks 1 and 2 are in broadcast(src=0) at line 96``."""
    groups: dict[str, list[int]] = {}
    for rank, operation in operations.items():
        groups.setdefault(show(operation), []).append(rank)
    parts = [
        f"{name_ranks(ranks)} {verb if len(ranks) == 1 else verbs} in {text}"
        for text, ranks in groups.items()
    ]
    return ", ".join(parts)


def _fewest(operations: Mapping[int, Operation]) -> int:
    """A rank of the smallest group that called the same from the same line."""
    count = Counter((op.name, op.line) for op in operations.values())
    return min(operations, key=lambda rank: count[operations[rank].name, operations[rank].line])


def _place(operation: Operation) -> tuple[str | None, int | None]:
    return (operation.file or None, operation.line or None)
