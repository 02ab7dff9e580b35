"""Known bugs: a job without a log, and logs that are lost; and the forms that keep them."""

from __future__ import annotations

from pathlib import Path

from tests.slurm.virtual_cluster import Cluster, Ended

HELLO = "#!/bin/bash\necho hello\n"
NO_LOG = Ended("FAILED", 0, 53, "JobLaunchFailure")


def test_a_missing_log_directory_fails_a_job_without_a_word(cluster: Cluster, tmp_path: Path) -> None:
    """toil#4633: to make it in the script is too late."""
    output = f"--output={tmp_path}/logs/%x_%j.out"
    script = f"#!/bin/bash\nmkdir -p {tmp_path}/logs\necho hello\n"
    assert cluster.wait(cluster.sbatch(script, output, cwd=tmp_path)) == NO_LOG
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "logs").mkdir()
    job = cluster.sbatch(script, output, "--job-name=run", cwd=tmp_path)
    assert cluster.wait(job).state == "COMPLETED"
    assert (tmp_path / "logs" / f"run_{job}.out").read_text() == "hello\n"


def test_a_relative_log_directory_is_looked_for_where_the_job_was_submitted(
    cluster: Cluster, tmp_path: Path
) -> None:
    for folder in ("logs", "elsewhere"):
        (tmp_path / folder).mkdir()
    assert cluster.wait(cluster.sbatch(HELLO, "--output=logs/out", cwd=tmp_path)).state == "COMPLETED"
    away = tmp_path / "elsewhere"
    assert cluster.wait(cluster.sbatch(HELLO, "--output=logs/out", cwd=away)) == NO_LOG
    absolute = f"--output={tmp_path}/logs/absolute"
    assert cluster.wait(cluster.sbatch(HELLO, absolute, cwd=away)).state == "COMPLETED"


def test_a_job_name_with_slashes_leads_the_log_to_another_folder(cluster: Cluster, tmp_path: Path) -> None:
    output = f"--output={tmp_path}/%x.out"
    lost = cluster.sbatch(HELLO, output, "--job-name=../../no/where", cwd=tmp_path)
    assert cluster.wait(lost) == NO_LOG
    assert cluster.wait(cluster.sbatch(HELLO, output, "--job-name=a4", cwd=tmp_path)).state == "COMPLETED"
    assert (tmp_path / "a4.out").exists()


def requeued(cluster: Cluster, cwd: Path, *options: str) -> str:
    """What is in the log of a job that was stopped and ran a second time."""
    script = '#!/bin/bash\necho "run ${SLURM_RESTART_COUNT:-0}"\n'
    script += '[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || exit 0\ntouch running\nsleep 600\n'
    job = cluster.sbatch(script, "--requeue", f"--output={cwd}/log", *options, cwd=cwd)
    cluster.wait_for(cwd / "running")
    assert cluster.machine.client("scontrol", "requeue", job).returncode == 0
    cluster.wait_until(job, "PENDING")
    # Slurm would wait for two minutes. In the second in which it was stopped, a node does not take it again
    # ("Job credential revoked").
    cluster.machine.client("scontrol", "update", f"JobId={job}", "StartTime=now+2seconds")
    assert cluster.wait(job).state == "COMPLETED"
    (cwd / "running").unlink()
    return (cwd / "log").read_text()


def test_a_requeued_job_overwrites_its_log_unless_told_to_append(cluster: Cluster, tmp_path: Path) -> None:
    assert requeued(cluster, tmp_path) == "run 1\n"
    (tmp_path / "log").unlink()
    appended = requeued(cluster, tmp_path, "--open-mode=append")
    assert appended.startswith("run 0\n")
    assert appended.endswith("run 1\n")


def test_a_job_that_must_not_run_twice_says_so(cluster: Cluster, tmp_path: Path) -> None:
    job = cluster.sbatch("#!/bin/bash\ntouch running\nsleep 600\n", "--no-requeue", cwd=tmp_path)
    cluster.wait_for(tmp_path / "running")
    assert cluster.machine.client("scontrol", "requeue", job).returncode != 0
    cluster.machine.client("scancel", job)
    assert cluster.wait(job).state == "CANCELLED"
