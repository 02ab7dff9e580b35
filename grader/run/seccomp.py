"""A filter of system calls for the processes of a job, whatever user they run as.

Refused is what gives memory that belongs to no process, so that no limit of ours would see it, what reaches
beyond namespaces (keyrings hold the instructor's tickets), and what reaches into other processes. A call that
is refused answers as on a kernel that does not have it, so that libraries fall back on something else.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # offsets into struct seccomp_data
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_X32 = 0x40000000  # x86_64's second set of numbers for the same calls

# memfd_create, memfd_secret; shmget, msgget; add_key, request_key, keyctl; bpf, userfaultfd, perf_event_open;
# ptrace, process_vm_readv, process_vm_writev
_REFUSED = {
    "x86_64": (0xC000003E, (319, 447, 29, 68, 248, 249, 250, 321, 323, 298, 101, 310, 311)),
    "aarch64": (0xC00000B7, (279, 447, 194, 186, 217, 218, 219, 280, 282, 241, 117, 270, 271)),
}


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


def _program(architecture: int, refused: tuple[int, ...]) -> bytes:
    """Instructions of 8 bytes: code, jump if true, jump if false, operand. Jumps count what they skip."""
    checks = [
        *((_JUMP_IF_EQUAL, number) for number in refused),
        (_JUMP_IF_AT_LEAST, _X32),
    ]
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 0, len(checks) + 2, architecture),  # another one: refuse
        (_LOAD, 0, 0, _NUMBER_AT),
        *((code, len(checks) - index, 0, operand) for index, (code, operand) in enumerate(checks)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
