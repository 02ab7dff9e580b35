"""The sandbox of an ordinary user, in user namespaces: the same tests, run by one.

Root's sandbox is built in another way, so a suite that root runs has to become somebody else for this.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.made import ROOT, is_root

USER = 48_123  # somebody who owns nothing
ASKED = [
    "tests/run/test_inside.py",
    "tests/run/test_neighbours.py",
    "tests/run/test_attacks.py::test_a_fork_bomb_ends_at_the_process_limit[processes]",
    "tests/run/test_attacks.py::test_memory_ends_at_the_limit_of_the_whole_job[shared memory]",
    "tests/run/test_attacks.py::test_a_full_disk_ends_the_job_at_the_output_limit",
    "tests/run/test_attacks.py::test_a_daemon_ends_with_its_job_and_cannot_change_what_the_rank_left",
    "tests/run/test_attacks.py::test_a_forged_artifact_neither_blocks_nor_leaks",
    "tests/run/test_session.py::test_closing_a_session_in_the_middle_of_a_job_ends_it_and_returns[bubblewrap]",
]
# In mounts of its own, folders above Python and the checkout that are closed to others (/root) are opened.
AS_AN_ORDINARY_USER = """
set -e
mount -t tmpfs none "$LAYERS"
number=0
for folder in $CLOSED; do
    number=$((number + 1))
    upper="$LAYERS/upper$number" work="$LAYERS/work$number"
    mkdir "$upper" "$work"
    mount -t overlay none -o "lowerdir=$folder,upperdir=$upper,workdir=$work" "$folder"
    chmod o+rx "$folder"
done
exec setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups "$@"
"""


def as_an_ordinary_user(layers: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/nowhere", "LAYERS": str(layers)}
    environment |= {
        "USER_ID": str(USER),
        "CLOSED": " ".join(closed_folders()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    wrapped = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        AS_AN_ORDINARY_USER,
        "sh",
        *command,
    ]
    return subprocess.run(wrapped, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=540)


def closed_folders() -> list[str]:
    needed = [ROOT, Path(sys.prefix), Path(os.path.realpath(sys.base_prefix))]
    above = {folder for path in needed for folder in (path, *path.parents)}
    return sorted(str(folder) for folder in above if not folder.stat().st_mode & 0o001)


@pytest.mark.sandbox
def test_all_of_it_holds_for_an_ordinary_user_in_user_namespaces(tmp_path):
    if not is_root():
        pytest.skip("this suite is run by an ordinary user already")
    possible = as_an_ordinary_user(
        tmp_path, "bwrap", "--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "true"
    )
    if possible.returncode != 0:
        pytest.skip(f"an ordinary user has no user namespaces here: {possible.stderr.strip()}")
    result = as_an_ordinary_user(
        tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ASKED
    )
    assert result.returncode == 0, result.stdout + result.stderr
