"""Known bugs: what a script makes of nodes, ports, GPUs and the environment before torchrun even starts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import Cluster

STRICT = "#!/bin/bash\nset -euo pipefail\n"


def test_the_node_id_is_that_of_the_first_node_everywhere_unless_it_expands_on_each(
    cluster: Cluster, tmp_path: Path
) -> None:
    """picotron's base_job.slurm, lm-engine's job.sh: all nodes would be rank 0."""
    options = ("--nodes=4", "--ntasks-per-node=1")
    too_early = f'{STRICT}srun bash -c "echo $SLURM_NODEID"\n'
    assert cluster.run(too_early, *options, cwd=tmp_path)[1].split() == ["0"] * 4
    on_each = f"{STRICT}srun bash -c 'echo $SLURM_NODEID'\n"
    assert sorted(cluster.run(on_each, *options, cwd=tmp_path)[1].split()) == ["0", "1", "2", "3"]


def test_a_task_number_is_no_node_rank_unless_there_is_one_task_on_each_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    """oumi#2020 and Megatron-LM#1371: two nodes, and four agents that want to be one."""
    script = f"{STRICT}srun bash -c 'echo $SLURM_PROCID on $SLURM_NODEID'\n"
    two = cluster.run(script, "--nodes=2", "--ntasks-per-node=2", cwd=tmp_path)[1]
    assert sorted(two.splitlines()) == ["0 on 0", "1 on 0", "2 on 1", "3 on 1"]
    one = cluster.run(script, "--nodes=2", "--ntasks-per-node=1", cwd=tmp_path)[1]
    assert sorted(one.splitlines()) == ["0 on 0", "1 on 1"]


@pytest.mark.parametrize(
    ("request_of_gpus", "as_asked"), [("--gpus-per-node=a100:2", "a100:2"), ("--gres=gpu:2", "nothing")]
)
def test_the_number_of_gpus_is_what_is_on_the_node_and_not_what_was_asked_for(
    cluster: Cluster, tmp_path: Path, request_of_gpus: str, as_asked: str
) -> None:
    """awsome-distributed-ai#71: torchrun gets `a100:2` processes, or none."""
    script = f'{STRICT}echo "${{SLURM_GPUS_PER_NODE:-nothing}} $SLURM_GPUS_ON_NODE"\n'
    assert cluster.run(script, request_of_gpus, cwd=tmp_path)[1] == f"{as_asked} 2\n"


def test_gpus_bound_to_tasks_hide_the_others_from_each(cluster: Cluster, tmp_path: Path) -> None:
    """nccl#1066: processes of one node can then not see each other's GPU."""
    script = f"{STRICT}srun bash -c 'echo $CUDA_VISIBLE_DEVICES'\n"
    bound = cluster.run(script, "--ntasks=2", "--gpus-per-task=1", "--nodes=1", cwd=tmp_path)[1]
    assert sorted(bound.split()) == ["0", "1"]
    assert cluster.run(script, "--ntasks=1", "--gres=gpu:2", cwd=tmp_path)[1].split() == ["0,1"]


def test_nothing_is_found_in_an_empty_environment_unless_srun_is_told_otherwise(
    cluster: Cluster, tmp_path: Path
) -> None:
    step = "srun bash -c 'echo hello'\n"
    ended, printed = cluster.run(STRICT + step, "--export=NONE", cwd=tmp_path)
    assert ended.state == "FAILED"
    assert "execve(): bash: No such file or directory" in printed
    told = f"{STRICT}export SLURM_EXPORT_ENV=ALL\n{step}"
    assert cluster.run(told, "--export=NONE", cwd=tmp_path)[1] == "hello\n"


def test_a_port_made_of_the_last_digits_is_port_1_for_a_short_job_id(
    cluster: Cluster, tmp_path: Path
) -> None:
    """LUMI-AI-Guide's run_ddp_torchrun_4.sh."""
    digits = f'{STRICT}echo "1${{SLURM_JOB_ID:0-4}}"\n'
    assert cluster.run(digits, cwd=tmp_path)[1] == "1\n"
    arithmetic = f"{STRICT}echo $((10000 + SLURM_JOB_ID % 20000))\n"
    assert 10000 < int(cluster.run(arithmetic, cwd=tmp_path)[1]) < 30000


# Bind the port, say so, and hold it until the other job has tried as well.
BIND = """
import pathlib, socket, sys, time
name, port = sys.argv[1], int(sys.argv[2])
held = socket.socket()
try:
    held.bind(("", port))
    status = 0
except OSError as error:
    print(error)
    status = 1
pathlib.Path("tried", name).touch()
while len(list(pathlib.Path("tried").iterdir())) < 2:
    time.sleep(0.05)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("port", "states"),
    [
        ("29500", ["COMPLETED", "FAILED"]),
        ("$((10000 + SLURM_JOB_ID % 20000))", ["COMPLETED", "COMPLETED"]),
    ],
)
def test_two_jobs_on_a_node_cannot_have_the_same_port(
    cluster: Cluster, tmp_path: Path, port: str, states: list[str]
) -> None:
    """gpt-neox#768, pytorch#126510: torchrun's usual port is the same for everybody."""
    (tmp_path / "tried").mkdir()
    (tmp_path / "bind.py").write_text(BIND)
    script = f'{STRICT}{sys.executable} -I -S bind.py "$SLURM_JOB_ID" {port}\n'
    jobs = [cluster.sbatch(script, "--nodelist=n1", "--mem=100", cwd=tmp_path) for _ in range(2)]
    assert sorted(cluster.wait(job).state for job in jobs) == states
    printed = "".join((tmp_path / f"slurm-{job}.out").read_text() for job in jobs)
    assert bool(re.search("Address already in use", printed)) == ("FAILED" in states)
