"""Known bugs: arrays, dependencies, jobs that submit jobs, and how to learn what became of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import Cluster, Ended, Refused


@pytest.mark.parametrize("indices", ["2001", "2001-2003"])
def test_an_array_is_refused_for_a_large_index_and_not_only_for_many_tasks(
    cluster: Cluster, tmp_path: Path, indices: str
) -> None:
    """sracha-rs#81, submitit#1624: MaxArraySize is a limit on the index; go on from an offset."""
    with pytest.raises(Refused, match="Invalid job array specification"):
        cluster.sbatch("#!/bin/bash\ntrue\n", f"--array={indices}", cwd=tmp_path)
    script = '#!/bin/bash\necho $((SLURM_ARRAY_TASK_ID + OFFSET)) > "$SLURM_ARRAY_TASK_ID"\n'
    job = cluster.sbatch(script, "--array=1-3", "--export=ALL,OFFSET=2000", cwd=tmp_path)
    assert all(cluster.wait(f"{job}_{i}").state == "COMPLETED" for i in (1, 2, 3))
    assert [(tmp_path / str(i)).read_text() for i in (1, 2, 3)] == ["2001\n", "2002\n", "2003\n"]


def test_a_misspelt_variable_gives_every_task_the_first_item_unless_unset_ones_are_errors(
    cluster: Cluster, tmp_path: Path
) -> None:
    """HALFpipe#436: SLURM_TASK_ARRAY_ID."""
    pick = "items=(a b c)\necho ${items[$SLURM_TASK_ARRAY_ID]}\n"
    options = ("--array=1-2", f"--output={tmp_path}/%a")
    loose = cluster.sbatch(f"#!/bin/bash\n{pick}", *options, cwd=tmp_path)
    assert [cluster.wait(f"{loose}_{i}").state for i in (1, 2)] == ["COMPLETED", "COMPLETED"]
    assert [(tmp_path / i).read_text() for i in "12"] == ["a\n", "a\n"]

    strict = cluster.sbatch(f"#!/bin/bash\nset -u\n{pick}", *options, cwd=tmp_path)
    assert [cluster.wait(f"{strict}_{i}").state for i in (1, 2)] == ["FAILED", "FAILED"]
    assert "SLURM_TASK_ARRAY_ID: unbound variable" in (tmp_path / "1").read_text()


def test_waiting_for_an_array_gives_the_highest_status_of_its_tasks(cluster: Cluster, tmp_path: Path) -> None:
    script = "#!/bin/bash\nexit $((5 - SLURM_ARRAY_TASK_ID))\n"
    done = cluster.machine.client("sbatch", "--wait", "--array=1-3", cwd=tmp_path, stdin=script)
    assert done.returncode == 4


def test_a_job_after_a_failed_one_waits_for_ever_unless_told_to_give_up(
    cluster: Cluster, tmp_path: Path
) -> None:
    first = cluster.sbatch("#!/bin/bash\nexit 1\n", "--hold", cwd=tmp_path)
    script, after = "#!/bin/bash\ntrue\n", f"--dependency=afterok:{first}"
    for_ever = cluster.sbatch(script, after, "--kill-on-invalid-dep=no", cwd=tmp_path)
    gives_up = cluster.sbatch(script, after, "--kill-on-invalid-dep=yes", cwd=tmp_path)
    collects = cluster.sbatch(script, f"--dependency=afterany:{first}", cwd=tmp_path)
    cluster.machine.client("scontrol", "release", first)
    assert cluster.wait(gives_up).state == "CANCELLED"
    assert cluster.wait(collects).state == "COMPLETED"
    seen = cluster.show(for_ever)
    assert (seen["JobState"], seen["Reason"]) == ("PENDING", "DependencyNeverSatisfied")
    cluster.machine.client("scancel", for_ever)


INNER = '#!/bin/bash\necho "${SLURM_ARRAY_TASK_ID:-none}"\n'
# What belongs to the outer job, but not where the cluster is.
CLEAN = "unset $(compgen -e | grep -E '^(SLURM|SBATCH|PMIX)_' | grep -vx SLURM_CONF)\n"


@pytest.mark.parametrize(("before", "seen"), [("", "7\n"), (CLEAN, "none\n")], ids=["as it is", "cleaned"])
def test_a_job_that_submits_another_hands_on_its_variables_unless_they_are_removed(
    cluster: Cluster, tmp_path: Path, before: str, seen: str
) -> None:
    """submitit#1782: the inner job takes itself for a task of the outer array."""
    (tmp_path / "inner.sh").write_text(INNER)
    outer = f"#!/bin/bash\nset -e\n{before}sbatch --wait --output=inner.out inner.sh\n"
    job = cluster.sbatch(outer, "--array=7", cwd=tmp_path)
    assert cluster.wait(f"{job}_7").state == "COMPLETED"
    assert (tmp_path / "inner.out").read_text() == seen


def test_a_cleaned_environment_must_keep_where_the_cluster_is(cluster: Cluster, tmp_path: Path) -> None:
    """submitit#1814."""
    lost = '#!/bin/bash\nenv -i PATH="$PATH" squeue\n'
    ended, printed = cluster.run(lost, cwd=tmp_path)
    assert ended.state == "FAILED"
    assert "Could not establish a configuration source" in printed
    kept = '#!/bin/bash\nenv -i PATH="$PATH" SLURM_CONF="$SLURM_CONF" squeue\n'
    assert cluster.run(kept, cwd=tmp_path)[0].state == "COMPLETED"


def test_without_accounting_the_state_of_a_job_comes_from_the_controller(
    cluster: Cluster, tmp_path: Path
) -> None:
    """submitit#1720, torchx#1070: sacct knows nothing."""
    job = cluster.sbatch("#!/bin/bash\nexit 4\n", cwd=tmp_path)
    assert cluster.wait(job) == Ended("FAILED", 4, 0, "NonZeroExitCode")
    asked = cluster.machine.client("sacct", "--jobs", job)
    assert (asked.returncode, asked.stderr) == (1, "Slurm accounting storage is disabled\n")
