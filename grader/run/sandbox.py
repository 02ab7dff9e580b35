"""The command that starts the agent: inside bubblewrap, or as a plain process.

Inside there are the system's programs, this Python with torch, the staff's utils.py, the code that
drives a rank and the staged submission, all read-only. No reference, no rubric, no home directory, no
network but loopback. What a job may write to is its own (see `jail`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grader

_PACKAGE = Path(grader.__file__).parent
_SHARED_WITH_SANDBOX = ("__init__.py", "job.py", "lazy_compiler.py", "module_names.py", "exercises", "run")
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/alternatives",
)
_ETC = ("hosts", "nsswitch.conf", "passwd", "group")
_INSIDE_PYTHON, _INSIDE_SITE, _INSIDE_CODE = "/opt/python", "/opt/site", "/opt/grader"


class SandboxError(RuntimeError):
    """The sandbox cannot be set up here. The message says what is missing and what to do."""


@dataclass(frozen=True)
class Place:
    """Where the agent finds things: ``command`` starts it (its own arguments are to follow), ``environment``
    is all of its environment, ``submissions`` holds a folder for each submission, and ``staff_utils`` is the
    path that ranks open."""

    command: tuple[str, ...]
    environment: dict[str, str]
    submissions: str
    staff_utils: str
    jailed: bool


def bubblewrap(submissions: Path, staff_utils: Path) -> Place:
    """The agent inside bubblewrap. ``submissions`` holds the staged ones; each job sees its own (see `jail`).
    Raises `SandboxError` when bubblewrap is not installed or cannot work."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxError(
            "bubblewrap is not installed, so a submission cannot be run safely. Install the package "
            "'bubblewrap' (apt-get install bubblewrap), or pass --sandbox none to run it unprotected."
        )
    python, python_folder = _relocated_python()
    arguments = [
        bwrap,
        "--die-with-parent",
        "--new-session",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
    ]
    arguments += ["--unshare-uts", "--hostname", "localhost", "--unshare-cgroup-try"]
    if os.geteuid() != 0:
        arguments += ["--unshare-user"]
    # bubblewrap makes the parents of a mount unreadable for anybody but its own user.
    for folder in (
        "/etc",
        "/opt",
        "/opt/staff",
        _INSIDE_CODE,
        f"{_INSIDE_CODE}/grader",
        "/submission",
        "/tmp",
    ):
        arguments += ["--perms", "0755", "--dir", folder]
    arguments += _system_mounts()
    for name in _ETC:
        # Without /etc/hosts nothing is called localhost, and the rendezvous waits for minutes.
        arguments += ["--ro-bind", str(_PACKAGE / "run" / "etc" / name), f"/etc/{name}"]
    # An ordinary user owns the tmpfs below /dev, and could write there past the job's disk limit.
    arguments += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    if python_folder is not None:
        arguments += ["--ro-bind", str(python_folder), _INSIDE_PYTHON]
    site = sysconfig.get_path("platlib")
    arguments += ["--ro-bind", site, _INSIDE_SITE]
    # An installed wheel carries the judge, too; it may also lie below /usr.
    hidden = [f"{_INSIDE_SITE}/grader"] if (Path(site) / "grader").exists() else []
    hidden += [str(_PACKAGE)] if _PACKAGE.is_relative_to("/usr") else []
    for folder in hidden:
        arguments += ["--tmpfs", folder, "--remount-ro", folder]
    for name in _SHARED_WITH_SANDBOX:
        arguments += ["--ro-bind", str(_PACKAGE / name), f"{_INSIDE_CODE}/grader/{name}"]
    arguments += [
        "--ro-bind",
        str(staff_utils),
        "/opt/staff/utils.py",
        "--ro-bind",
        str(submissions),
        "/submissions",
    ]
    arguments += ["--remount-ro", "/", "--chdir", "/", "--"]
    command = (*arguments, *_agent(python, (_INSIDE_CODE, _INSIDE_SITE)))
    environment = (
        {**_environment(), "LD_LIBRARY_PATH": f"{_INSIDE_PYTHON}/lib"} if python_folder else _environment()
    )
    return Place(command, environment, "/submissions", "/opt/staff/utils.py", jailed=True)


def in_the_open(submissions: Path, staff_utils: Path) -> Place:
    """The agent as a plain process of this user's: nothing protects the machine from the submission."""
    site = sysconfig.get_path("platlib")
    command = _agent(sys.executable, (str(_PACKAGE.parent), site))
    return Place(command, _environment(), str(submissions), str(staff_utils), jailed=False)


def explain_failure(stderr: str, jailed: bool) -> str:
    """A sentence for an agent that ended before it was ready."""
    last = stderr.strip().splitlines()[-1] if stderr.strip() else "it said nothing"
    if jailed and stderr.startswith("bwrap: Unknown option"):
        return (
            f"bubblewrap is too old ({last}): 0.5 or newer is needed. Install a newer package "
            "'bubblewrap', or pass --sandbox none to run without protection."
        )
    if jailed and stderr.startswith("bwrap:"):
        return (
            f"bubblewrap cannot make a sandbox here ({last}). User namespaces are probably switched off: see "
            "the sysctls kernel.unprivileged_userns_clone, user.max_user_namespaces and "
            "kernel.apparmor_restrict_unprivileged_userns. Or pass --sandbox none to run without protection."
        )
    return f"the process that runs submissions could not start: {last}"


def _agent(python: str, search_path: Sequence[str]) -> tuple[str, ...]:
    # -I and -S: nothing of the environment, the working directory or a .pth file decides what is imported.
    start = (
        f"import sys; sys.path[:0] = {list(search_path)!r}; from grader.run import agent; "
        "agent.main(int(sys.argv[1]), sys.argv[2] == 'jailed', sys.argv[3])"
    )
    return (python, "-I", "-S", "-B", "-c", start)


def _environment() -> dict[str, str]:
    """Everything that a rank finds in its environment before the elastic agent adds RANK and its like."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "USER": "student",
        "LOGNAME": "student",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "PYTHONUNBUFFERED": "1",
    }


def _system_mounts() -> list[str]:
    arguments: list[str] = []
    for path in _SYSTEM:
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            arguments += ["--ro-bind", path, path]
    return arguments


def _relocated_python() -> tuple[str, Path | None]:
    """This interpreter's path inside, and the folder to mount for it when it is none of the system's.

    It may well live in the instructor's home directory: inside, its place is /opt/python.
    """
    executable, prefix = Path(os.path.realpath(sys.executable)), Path(os.path.realpath(sys.base_prefix))
    if prefix.is_relative_to("/usr"):
        return str(executable), None
    if not executable.is_relative_to(prefix):
        raise SandboxError(f"the Python at {executable} lies outside of its own installation {prefix}.")
    return f"{_INSIDE_PYTHON}/{executable.relative_to(prefix)}", prefix


def version() -> str:
    """The installed bubblewrap's own version line, or ""."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return ""
    return subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False).stdout.strip()
