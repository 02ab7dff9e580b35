"""Known bugs: #SBATCH lines are no shell, and some are not read at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.virtual_cluster import Cluster, Refused

NAME = 'echo "$SLURM_JOB_NAME"\n'


@pytest.mark.parametrize(
    "ignored",
    [
        "#!/bin/bash\ntrue\n#SBATCH --job-name=mine\n",
        "#!/bin/bash\n##SBATCH --job-name=mine\n",
        "#!/bin/bash\n# SBATCH --job-name=mine\n",
    ],
    ids=["after a command", "two signs", "a space"],
)
def test_a_directive_that_slurm_does_not_see_is_ignored_silently(
    cluster: Cluster, tmp_path: Path, ignored: str
) -> None:
    assert cluster.run(ignored + NAME, cwd=tmp_path)[1] == "\n"


def test_a_directive_before_the_first_command_counts(cluster: Cluster, tmp_path: Path) -> None:
    script = f"#!/bin/bash\n# what it is for\n\n#SBATCH --job-name=mine # and why\n{NAME}"
    assert cluster.run(script, cwd=tmp_path)[1] == "mine\n"


@pytest.mark.parametrize(
    ("line", "because", "corrected"),
    [
        ("#SBATCH --nodes=$N", '"\\$N" is not a valid node count', "#SBATCH --nodes=2"),
        ("#SBATCH --job-name=a b", "Invalid directive found in batch script: b", "#SBATCH --job-name=a_b"),
        ("#SBATCH --nodes=2\r", "DOS line breaks", "#SBATCH --nodes=2"),
    ],
)
def test_a_wrong_directive_is_refused_with_its_reason(
    cluster: Cluster, tmp_path: Path, line: str, because: str, corrected: str
) -> None:
    """axolotl's axolotl.slurm has the first one; only rendered values work."""
    with pytest.raises(Refused, match=because):
        cluster.sbatch(f"#!/bin/bash\n{line}\ntrue\n", cwd=tmp_path)
    assert cluster.run(f"#!/bin/bash\n{corrected}\ntrue\n", cwd=tmp_path)[0].state == "COMPLETED"


def test_a_space_in_a_value_becomes_an_option_of_its_own(cluster: Cluster, tmp_path: Path) -> None:
    script = f"#!/bin/bash\n#SBATCH --account=eecs --job-name=injected\n{NAME}"
    assert cluster.run(script, cwd=tmp_path)[1] == "injected\n"


def test_a_variable_in_the_name_of_a_log_stays_as_it_is(cluster: Cluster, tmp_path: Path) -> None:
    for output in ("out.${SLURM_JOB_ID}", "out.%j"):
        job = cluster.sbatch(f"#!/bin/bash\n#SBATCH --output={output}\ntrue\n", cwd=tmp_path)
        assert cluster.wait(job).state == "COMPLETED"
    assert {file.name for file in tmp_path.iterdir()} == {"out.${SLURM_JOB_ID}", f"out.{job}"}
