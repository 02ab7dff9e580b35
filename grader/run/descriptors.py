"""How many descriptors the grader may have, and how many a process of a job.

The kernel counts those that a user has sent over unix sockets and that nobody has received yet, for all
processes of that user together, and refuses a sender (ETOOMANYREFS) once there are more of them than the
sender's own limit of open files. Where an ordinary user runs the grader, one job can use them up for all:
it comes as far as its own limit and one message of 253 more for each core, so ours has to be well above.
"""

from __future__ import annotations

import contextlib
import resource

_ENOUGH_FOR_A_PROCESS = 1024


def raise_own_limit() -> None:
    """Let this process have as many as its hard limit allows. Changes nothing where that is not possible."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS: no limit, but not for setting it
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def for_a_process_of_a_job() -> int:
    """Far fewer than the grader's own, whose hard limit this process still has."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return _ENOUGH_FOR_A_PROCESS
    return min(_ENOUGH_FOR_A_PROCESS, hard // 4)
