"""A filter of system calls for the processes of a job, whatever user they run as.

Refused is what gives memory that belongs to no process, so that no limit of ours would see it, what reaches
beyond namespaces (keyrings hold the instructor's tickets), and what reaches into other processes. A call that
is refused answers as on a kernel that does not have it, so that libraries fall back on something else.

Of fcntl, one command is refused: to change what a pipe holds. The kernel counts the pages of all pipes of a
user, and where an ordinary user runs the grader, all jobs are that user. It answers as it does when they are
used up.

The kernel also counts the descriptors that a user has sent over unix sockets and nobody has received yet. No
filter can see them: they are behind a pointer. Nor are unix sockets refused, which asyncio,
multiprocessing.Pipe and torch's DataLoader make. A sender is refused once there are more of them than its own
RLIMIT_NOFILE: see `grader.run.descriptors`.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # offsets into struct seccomp_data
_SECOND_ARGUMENT_AT = 16 + 8  # its lower half, on these machines; of a command the kernel takes no more
_ALLOW, _REFUSE, _FORBID = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EPERM
_X32 = 0x40000000  # x86_64's second set of numbers for the same calls

# The architecture; fcntl; then memfd_create, memfd_secret; shmget, msgget; add_key, request_key, keyctl; bpf,
# userfaultfd, perf_event_open; ptrace, process_vm_readv, process_vm_writev
_REFUSED = {
    "x86_64": (0xC000003E, 72, (319, 447, 29, 68, 248, 249, 250, 321, 323, 298, 101, 310, 311)),
    "aarch64": (0xC00000B7, 25, (279, 447, 194, 186, 217, 218, 219, 280, 282, 241, 117, 270, 271)),
}
_F_SETPIPE_SZ = 1031


def refuse_calls() -> None:
    """Filter the calls of this process and all its future children, for good.

    It must have no new privileges (PR_SET_NO_NEW_PRIVS). On an architecture that is not known here, nothing
    is filtered. Raises OSError.
    """
    if platform.machine() not in _REFUSED:
        return
    program = _program(*_REFUSED[platform.machine()])
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(described), 0, 0) != 0:
        number = ctypes.get_errno()
        if number != errno.EINVAL:  # a kernel that was built without filters
            raise OSError(number, "the filter of system calls could not be set")


def _program(architecture: int, fcntl: int, refused: tuple[int, ...]) -> bytes:
    """Instructions of 8 bytes: code, jump if true, jump if false, operand. Jumps count what they skip."""
    checks = [
        *((_JUMP_IF_EQUAL, number) for number in refused),
        (_JUMP_IF_AT_LEAST, _X32),
    ]
    of_fcntl = [
        (_LOAD, 0, 0, _SECOND_ARGUMENT_AT),
        (_JUMP_IF_EQUAL, 0, 1, _F_SETPIPE_SZ),  # another command: allow
        (_RETURN, 0, 0, _FORBID),
        (_RETURN, 0, 0, _ALLOW),
    ]
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 0, 2 + len(of_fcntl) + len(checks) + 1, architecture),  # another one: refuse
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_EQUAL, 0, len(of_fcntl), fcntl),  # another call: go on behind
        *of_fcntl,
        *((code, len(checks) - index, 0, operand) for index, (code, operand) in enumerate(checks)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
