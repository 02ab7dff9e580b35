"""The virtual cluster is a Slurm: four nodes with names of their own, GPUs, a queue, and power to cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import NODES, Cluster, Ended, Refused, virtual_cluster

COMPLETED = Ended("COMPLETED", 0, 0, "None")


def test_every_node_says_its_own_name(cluster: Cluster, tmp_path: Path) -> None:
    script = "#!/bin/bash\nsrun hostname\n"
    ended, printed = cluster.run(script, "--nodes=4", "--ntasks-per-node=1", cwd=tmp_path)
    assert ended == COMPLETED
    assert sorted(printed.split()) == sorted(NODES)


def test_nodes_reach_each_other_by_the_names_that_slurm_gives(cluster: Cluster, tmp_path: Path) -> None:
    script = '#!/bin/bash\ngetent ahostsv4 $(scontrol show hostnames "$SLURM_JOB_NODELIST")\n'
    ended, printed = cluster.run(script, "--nodes=4", cwd=tmp_path)
    assert ended == COMPLETED
    assert {line.split()[0] for line in printed.splitlines()} == {f"10.0.0.{i}" for i in range(1, 5)}


def test_jobs_get_gpus_of_their_own_and_no_more_than_there_are(cluster: Cluster, tmp_path: Path) -> None:
    script = "#!/bin/bash\necho $CUDA_VISIBLE_DEVICES\n"
    assert cluster.run(script, "--gres=gpu:2", cwd=tmp_path) == (COMPLETED, "0,1\n")
    with pytest.raises(Refused, match="Requested node configuration is not available"):
        cluster.sbatch(script, "--gres=gpu:3", cwd=tmp_path)


def test_a_job_starts_in_the_folder_that_it_was_submitted_from(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text('#!/bin/bash\npwd; echo "$1"\n')
    ended, printed = cluster.run(tmp_path / "job.sh", cwd=tmp_path, arguments=["two words"])
    assert (ended, printed) == (COMPLETED, f"{tmp_path}\ntwo words\n")


def test_two_clusters_at_once_do_not_know_of_each_other(cluster: Cluster, tmp_path: Path) -> None:
    waiting = cluster.sbatch(
        "#!/bin/bash\nsleep 600\n", "--job-name=theirs", "--begin=now+1hour", cwd=tmp_path
    )
    with virtual_cluster() as other:
        assert "theirs" in cluster.squeue()
        assert "theirs" not in other.squeue()
        assert other.run("#!/bin/bash\nexit 3\n", cwd=tmp_path)[0].exit_code == 3
    cluster.machine.client("scancel", waiting)
    assert cluster.wait(waiting).state == "CANCELLED"


@pytest.mark.slow  # half a minute: Slurm gives a silent node time
def test_a_job_whose_node_dies_fails(a_slurm: None, tmp_path: Path) -> None:
    with virtual_cluster("SlurmdTimeout=4") as own:
        script = "#!/bin/bash\ntouch running\nsleep 600\n"
        job = own.sbatch(script, "--no-requeue", "--nodelist=n4", cwd=tmp_path)
        own.wait_for(tmp_path / "running")
        own.kill_node("n4")
        assert own.wait(job).state == "NODE_FAIL"
        assert own.state_of("n4").startswith("down")
        assert own.state_of("n1") == "idle"
