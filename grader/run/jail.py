"""Namespaces of one job, made from inside the sandbox: its own processes, mounts, network and IPC.

bubblewrap builds the sandbox once, and torch is imported there once. Each job is forked
from that process; these calls give the fork what bubblewrap would have given it, so that jobs can neither
see, nor signal, nor reach each other, and the kernel kills all of a job with its first process (pid 1).

Two ways lead there. An ordinary user's sandbox lives in a user namespace, and the job gets a nested one.
Root's sandbox has root's own privileges, and the job gives them up for a user id that nobody else has:
user id 0, even without capabilities, may still write to /proc/sys.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import random
import resource
import socket
import struct
from pathlib import Path

from grader.job import Limits
from grader.run import descriptors, seccomp

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    *(1, 2, 4, 8, 4096, 16384),
    1 << 18,
)
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x1 | 0x40
_LAST_CAPABILITY = 63
_PROCESSES_SEEN = 32  # beyond the limit, for the watch to see; each makes a fork bomb harder to get past
_INODES_FOR_EACH_MB = 256  # of a job's /tmp: empty files take the kernel's memory, too
_CAPABILITY_VERSION_3 = 0x20080522

SUBMISSION = "/submission"

_libc = ctypes.CDLL(None, use_errno=True)


def enter(disk_mb: int, staged: str) -> int:
    """Give the calling process and its future children their own namespaces and a fresh /tmp.

    /tmp is the one writable place of the job, ``disk_mb`` megabytes large; /dev/shm is a folder of it. The
    submission at ``staged`` is seen as `SUBMISSION`, read-only; the folder of this one and others is hidden.
    Returns the user id that the job shall have. The next child forked is pid 1 of the job. Raises OSError.
    """
    rootful = os.geteuid() == 0
    uid, gid = os.geteuid(), os.getegid()
    _call(_libc.unshare, _NEWNS | _NEWIPC | _NEWPID | _NEWNET | (0 if rootful else _NEWUSER))
    if rootful:
        uid = gid = random.SystemRandom().randrange(1 << 24, 1 << 30)
    else:
        _map_to_itself(uid, gid)
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    options = f"size={disk_mb}m,nr_inodes={disk_mb * _INODES_FOR_EACH_MB},mode=0700,uid={uid},gid={gid}"
    _mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, options)
    os.mkdir("/tmp/shm", 0o700)
    os.chown("/tmp/shm", uid, gid)
    _mount("/tmp/shm", "/dev/shm", "", _MS_BIND)
    _mount(staged, SUBMISSION, "", _MS_BIND)
    _mount(
        "tmpfs", os.path.dirname(staged), "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k,mode=0555"
    )
    _raise_loopback()
    return uid


def settle(uid: int, limits: Limits) -> None:
    """Called by pid 1 of the job before anything else: its own /proc, no privileges, resource limits.

    Raises OSError.
    """
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    # Where memory runs out before the watch has seen it, the kernel takes one of the job's, and no other.
    Path("/proc/self/oom_score_adj").write_text("1000")
    rootful = os.geteuid() != uid
    _empty_bounding_set()
    if rootful:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        # The change of user made this process unreadable under /proc, for its own children too.
        _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    _deny_user_namespaces(uid, needs_its_own=rootful)
    _empty_bounding_set()  # a new user namespace comes with a full one
    _call(_libc.capset, struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24))
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    _call(_libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    seccomp.refuse_calls()
    set_resource_limits(limits)
    _cap(resource.RLIMIT_NPROC, limits.processes + _PROCESSES_SEEN)


def _empty_bounding_set() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails beyond the kernel's last: nothing to drop


def _deny_user_namespaces(uid: int, needs_its_own: bool) -> None:
    """Whoever may make a user namespace has every capability in it: to mount a /tmp without a limit, say.

    The number of nested ones is set to zero in the job's own user namespace. Where the kernel does not let
    this process make one (root's job needs its own), it does not let the student's either.
    """
    with contextlib.suppress(OSError):
        if needs_its_own:
            _call(_libc.unshare, _NEWUSER)
            _map_to_itself(uid, uid)
        Path("/proc/sys/user/max_user_namespaces").write_text("0")


def _map_to_itself(uid: int, gid: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def set_resource_limits(limits: Limits) -> None:
    """The limits that hold for each process of a job. The job's total is the warden's to watch: what is
    counted there has more room here, so that the watch sees it happen and says why the job ended."""
    _cap(resource.RLIMIT_CORE, 0)
    _cap(resource.RLIMIT_FSIZE, limits.disk_mb << 20)
    _cap(resource.RLIMIT_NOFILE, descriptors.for_a_process_of_a_job())
    _cap(resource.RLIMIT_DATA, _data_bytes() + 2 * (limits.memory_mb << 20))


def _cap(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def _data_bytes() -> int:
    """Private writable memory that this process has already, in bytes: torch's own is not the student's."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:  # not Linux
        return 1 << 30


def _raise_loopback() -> None:
    with socket.socket() as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP_RUNNING))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _call(_libc.mount, source.encode(), target.encode(), kind.encode(), flags, options.encode())


def _call(function: object, *arguments: object) -> None:
    if function(*arguments) != 0:  # type: ignore[operator]
        number = ctypes.get_errno()
        name = getattr(function, "__name__", "system call")
        raise OSError(number, f"{name}{arguments!r}: {os.strerror(number)}")
