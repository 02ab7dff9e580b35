"""Known bugs: a job that failed and shows COMPLETED, or the wrong code; and the forms that tell the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import Cluster, Ended

COMPLETED = Ended("COMPLETED", 0, 0, "None")
FAILED_3 = Ended("FAILED", 3, 0, "NonZeroExitCode")
STRICT = "set -euo pipefail\n"
STEP = "srun bash -c 'exit 3'"


@pytest.mark.parametrize(
    "lost",
    [f"{STEP} | tee log", f"{STEP}\necho finished"],
    ids=["in a pipe", "before an echo"],
)
def test_a_failed_step_is_lost_unless_the_script_is_strict(
    cluster: Cluster, tmp_path: Path, lost: str
) -> None:
    assert cluster.run(f"#!/bin/bash\n{lost}\n", cwd=tmp_path)[0] == COMPLETED
    assert cluster.run(f"#!/bin/bash\n{STRICT}{lost}\n", cwd=tmp_path)[0] == FAILED_3


def test_a_failed_step_in_the_background_is_lost_unless_it_is_waited_for_by_name(
    cluster: Cluster, tmp_path: Path
) -> None:
    assert cluster.run(f"#!/bin/bash\n{STRICT}{STEP} & wait\n", cwd=tmp_path)[0] == COMPLETED
    assert cluster.run(f"#!/bin/bash\n{STRICT}{STEP} & wait $!\n", cwd=tmp_path)[0] == FAILED_3


def test_ending_a_helper_replaces_the_status_unless_it_was_kept(cluster: Cluster, tmp_path: Path) -> None:
    """NeMo/Run#106."""
    script = "#!/bin/bash\nsleep 600 & helper=$!\nsrun true; status=$?\nkill -9 $helper\nwait $helper\n"
    assert cluster.run(script, cwd=tmp_path)[0].state == "FAILED"
    assert cluster.run(f'{script}exit "$status"\n', cwd=tmp_path)[0] == COMPLETED


def test_other_tasks_outlive_a_failed_one_unless_srun_is_told_to_kill_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    wait = "until [ -e go ]; do sleep 0.1; done; echo survived"
    task = f"bash -c 'if [ $SLURM_NODEID = 1 ]; then exit 3; fi; {wait}'"
    options = ("--nodes=2", "--ntasks-per-node=1")
    failed = "task 1: Exited with exit code 3"

    ended, printed = cluster.run(f"#!/bin/bash\nsrun --kill-on-bad-exit=1 {task}\n", *options, cwd=tmp_path)
    assert ended.state == "FAILED"
    assert "survived" not in printed
    # The status is that of a task that was killed; whose fault it was is in the log.
    assert (ended.exit_code, failed in printed) == (143, True)

    log = tmp_path / "log"
    job = cluster.sbatch(f"#!/bin/bash\nsrun {task}\n", *options, f"--output={log}", cwd=tmp_path)
    cluster.wait_for(log, failed)
    (tmp_path / "go").touch()
    assert cluster.wait(job) == FAILED_3
    assert "survived" in log.read_text()


@pytest.mark.slow  # Slurm looks for such jobs every half a minute
def test_a_job_out_of_time_is_known_by_its_state_and_not_by_the_status_of_sbatch(
    cluster: Cluster, tmp_path: Path
) -> None:
    # No limit is shorter than a minute, but the end can be moved.
    sooner = 'scontrol update "JobId=$SLURM_JOB_ID" EndTime=now+1seconds'
    script = f"#!/bin/bash\ntrap 'exit 0' TERM\n{sooner}\nsleep 600 & wait\n"
    options = ("--parsable", "--wait", "--time=5", f"--output={tmp_path}/log")
    done = cluster.machine.client("sbatch", *options, cwd=tmp_path, stdin=script, timeout=300)
    assert done.returncode == 0
    ended = cluster.wait(done.stdout.strip())
    assert (ended.state, ended.exit_code) == ("TIMEOUT", 0)
    assert "DUE TO TIME LIMIT" in (tmp_path / "log").read_text()
