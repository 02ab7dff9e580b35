"""Each rule with scripts that have the bug and scripts that only look like it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.clusters.findings import Finding
from grader.clusters.lint import lint

RIGHT = r"""#!/bin/bash
#SBATCH --job-name=lab
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:2
#SBATCH --time=00:10:00
#SBATCH --output=%x_%j.log
set -euo pipefail
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR=${hosts%%$'\n'*}
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export NCCL_DEBUG=WARN
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=1 bash -c '
  exec torchrun --nnodes="$SLURM_NNODES" --node-rank="$SLURM_NODEID" --nproc-per-node="$SLURM_GPUS_ON_NODE" \
    --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" "$@"' bash train.py
"""
NODES = "#SBATCH --nodes=4\n"
OUTPUT = "--output=%x_%j.log"
PORT = "$((10000 + SLURM_JOB_ID % 20000))"
SET = "set -euo pipefail\n"
ADDRESS = "${hosts%%$'\\n'*}"
LAST = "bash train.py\n"


def found(script: str) -> list[Finding]:
    return list(lint(script.encode()))


def changed(old: str, new: str) -> str:
    assert old in RIGHT
    return RIGHT.replace(old, new)


def test_a_right_script_has_no_finding() -> None:
    assert found(RIGHT) == []


BUGS = [
    # (rule, what it was, what it is, a piece of the sentences)
    ("crlf", "\n", "\r\n", "DOS line breaks"),
    ("first-line", "#!/bin/bash\n", "\n#!/bin/bash\n", "does not begin with #!"),
    ("late-directive", SET, SET + "#SBATCH --mem=4G\n", "behind the first command (line 9)"),
    ("late-directive", NODES, "cd /tmp\n#SBATCH --nodes=1\n", "ignores this one"),
    ("not-a-directive", NODES, NODES + "##SBATCH --mem=4G\n", "##SBATCH --mem=4G is a comment"),
    ("not-a-directive", NODES, NODES + "# SBATCH --mem=4G\n", "exactly #SBATCH"),
    ("not-a-directive", NODES, NODES + "#sbatch --mem=4G\n", "exactly #SBATCH"),
    ("not-a-directive", NODES, NODES + "#SBATCH--mem=4G\n", "exactly #SBATCH"),
    ("variable-in-directive", OUTPUT, "--output=out.${SLURM_JOB_ID}", "expands nothing"),
    ("variable-in-directive", NODES, "#SBATCH -N $N\n", "has $N in it"),
    ("stray-word", "--job-name=lab", "--job-name=a b", "Invalid directive found in batch script: b"),
    ("log-folder", OUTPUT, "--output=logs/%j.log", "logs/%j.log is in a folder"),
    ("log-folder", OUTPUT, "-o logs/%j.log", "absolute path"),
    ("log-folder", OUTPUT, "--output=~/%j.log", "absolute path"),
    ("log-folder", OUTPUT, "--output=/no/such/folder/%j.log", "mkdir -p /no/such/folder"),
    ("name-with-slash", "--job-name=lab", "--job-name=a/b", "without /"),
    ("array-index", NODES, NODES + "#SBATCH --array=1001-2000%8\n", "index 2000"),
    ("array-pattern", OUTPUT, "--output=%A_%a.log", "4294967294"),
    ("waits-for-ever", NODES, NODES + "#SBATCH --dependency=afterok:1\n", "DependencyNeverSatisfied"),
    ("export-none", NODES, NODES + "#SBATCH --export=NONE\n", "SLURM_EXPORT_ENV=ALL"),
    ("no-srun", "srun --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" --kill-on-bad-exit=1 bash", "bash", "4 nodes"),
    ("tasks-per-node", "--ntasks-per-node=1", "--ntasks-per-node=2", "2 tasks on each node"),
    ("tasks-per-node", "--ntasks-per-node=1", "--ntasks=8", "8 tasks for 4 nodes"),
    ("tasks-per-node", "srun -", "srun --ntasks-per-node=2 -", "EADDRINUSE"),
    ("expanded-too-early", SET, SET + "RANK=$SLURM_NODEID\n", "where it is 0"),
    ("expanded-too-early", "bash -c '", 'bash -c "torchrun --node_rank=$SLURM_PROCID x"; : \'', "PROCID"),
    ("expanded-too-early", LAST, "bash train.py <<END\n$SLURM_NODEID\nEND\n", "single quotes"),
    ("never-expanded", "bash -c '", "torchrun --rdzv_id=\\$SLURM_JOB_ID x; : '", "text $SLURM_JOB_ID itself"),
    ("never-expanded", "bash -c '", "torchrun --node-rank='$SLURM_NODEID' x; : '", "no other shell"),
    ("procid", "$SLURM_NODEID", "$SLURM_PROCID", "counts tasks"),
    ("same-node-rank", "--node-rank=\"$SLURM_NODEID\"", "--node-rank=0", "on every one of the"),
    ("c10d-node-rank", "torchrun ", "torchrun --rdzv-backend=c10d ", "c10d ignores it"),
    ("node-count", '--nnodes="$SLURM_NNODES"', "--nnodes=2", "2 nodes (--nnodes), and the job has 4"),
    ("rank-count", '--nproc-per-node="$SLURM_GPUS_ON_NODE"', "--nproc_per_node 4", "4 ranks and has 2 GPUs"),
    ("world-size", SET, SET + "export WORLD_SIZE=4\n", "make 8"),
    ("gpus-per-node-variable", "$SLURM_GPUS_ON_NODE", "$SLURM_GPUS_PER_NODE", "a100:4"),
    ("gpu-binding", "srun -", "srun --gpu-bind=single:1 -", "Leave --gpu-bind out"),
    ("gpu-binding", NODES, NODES + "#SBATCH --gpu-bind=closest\n", "closest"),
    ("srun-cpus", '--cpus-per-task="$SLURM_CPUS_PER_TASK" ', "", "22.05"),
    ("kill-on-bad-exit", "--kill-on-bad-exit=1 ", "", "go on and wait"),
    ("fixed-port", PORT, "29500", "always 29500"),
    ("fixed-port", '--master-port="$MASTER_PORT"', "--master_port=6000", "always 6000"),
    ("fixed-port", '--master-port="$MASTER_PORT"', "--rdzv_endpoint=$MASTER_ADDR:29400", "always 29400"),
    ("fixed-port", PORT, "${MASTER_PORT:-12345}", "always 12345"),
    ("port-from-digits", PORT, '"1${SLURM_JOB_ID:0-4}"', "port 1"),
    ("port-from-digits", PORT, "$((10000 + ${SLURM_JOB_ID: -4}))", "0812"),
    ("port-range", PORT, "$((1024 + RANDOM % 64511))", "from 1024 to 65534"),
    ("port-range", PORT, "$((20000 + SLURM_JOB_ID % 20000))", "32768 to 60999"),
    ("address-by-hostname", ADDRESS, "$(srun -N1 -n1 hostname --ip-address)", "127.0.1.1"),
    ("address-by-hostname", ADDRESS, "$(hostname -i)", "scontrol show hostnames"),
    ("launch-node", ADDRESS, "$SLURM_LAUNCH_NODE_IPADDR", "where srun was called"),
    ("localhost", ADDRESS, "localhost", "a world of its own"),
    ("localhost", ADDRESS, "${HEAD:-127.0.0.1}", "falls back"),
    ("localhost", ADDRESS, "$(scontrol show hostnames || echo localhost)", "falls back"),
    ("gloo-interfaces", SET, SET + "export GLOO_SOCKET_IFNAME=hsn0,hsn1\n", "one name"),
    ("pipe", LAST, "bash train.py | tee log\n", "pipefail"),
    ("status-lost", LAST, "bash train.py\necho done\n", "echo in line 17"),
    ("status-lost", LAST, "bash train.py &\nwait\n", "background"),
    ("status-lost", LAST, "bash train.py || true\n", "COMPLETED"),
    ("not-exported", "export NCCL_DEBUG", "NCCL_DEBUG", "NCCL_DEBUG is set and not exported"),
    ("not-exported", "export MASTER_PORT", "MASTER_PORT", "MASTER_PORT is set and not exported"),
    ("misspelt", SET, SET + "i=$SLURM_TASK_ARRAY_ID\n", "$SLURM_ARRAY_TASK_ID"),
    ("misspelt", SET, SET + "i=$SLURM_NNODE\n", "$SLURM_NNODES"),
]  # fmt: skip
FACTS = {
    "B1": "c10d-node-rank", "B4": "address-by-hostname", "B5": "localhost", "B6": "launch-node",
    "B7": "expanded-too-early", "B8": "procid", "B9": "tasks-per-node", "B10": "fixed-port",
    "B11": "port-range", "B12": "port-from-digits", "B12, its id": "never-expanded",
    "B13": "gpus-per-node-variable", "B14, B15": "srun-cpus", "B19": "log-folder", "B20": "status-lost",
    "B22": "array-index", "B23": "misspelt",
    "B25": "gpu-binding", "B26": "gloo-interfaces", "B28": "variable-in-directive",
}  # fmt: skip
"""The bugs that a script shows, of those that are known from public scripts and trackers."""

WITHOUT_SET = {"pipe", "status-lost"}
"""Where ``set -e`` hides the bug: the script of these has none."""


@pytest.mark.parametrize(("rule", "old", "new", "words"), BUGS)
def test_a_script_with_the_bug_is_told_so(rule: str, old: str, new: str, words: str) -> None:
    script = changed(old, new)
    if rule in WITHOUT_SET and "|| true" not in new and "&\n" not in new:
        script = script.replace(SET, "\n")
    if rule == "procid":
        script = script.replace("--ntasks-per-node=1", "--ntasks-per-node=2")
    same = [finding for finding in found(script) if finding.rule == rule]
    assert same, [finding.sentences for finding in found(script)]
    assert words in same[0].sentences


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NODES, "#SBATCH --nodes=4 # as the handout says\n"),
        (NODES, "#SBATCH -N 4 -t 10\n\n# a comment\n"),
        (NODES, NODES + '#SBATCH --comment="two words"\n'),
        (NODES, NODES + "#SBATCH --exclusive\n#SBATCH -A eecs\n#SBATCH --requeue\n"),
        (NODES, NODES + "#SBATCH --array=0-1000%8\n"),
        (NODES, NODES + "#SBATCH --dependency=afterany:1\n"),
        (NODES, NODES + "#SBATCH --dependency=afterok:1 --kill-on-invalid-dep=yes\n"),
        (NODES + "#SBATCH --ntasks-per-node=1\n", "#SBATCH --nodes=4 --ntasks=4\n"),
        ("--gres=gpu:2", "--gpus-per-node=a100:2"),
        (OUTPUT, "--output=/tmp/%j.log"),
        (SET, "#SBATCH --export=NONE\n" + SET + "export SLURM_EXPORT_ENV=ALL\n"),
        (SET, SET + 'echo "node $SLURM_NODEID of $SLURM_JOB_NODELIST"\n'),
        (SET, SET + "export SRUN_CPUS_PER_TASK=8\n"),
        (SET, "set -e\nset -o pipefail\n"),
        (SET, SET + "set -a\nFI_PROVIDER=efa\nset +a\n"),
        (SET, SET + "UCX_TLS=tcp\nexport UCX_TLS\n"),
        (SET, SET + "MASTER_PORT_BASE=10000\necho 'see $SLURM_NODEID'\n"),
        (PORT, "$((10000 + $SLURM_JOB_ID % 20000))"),
        ("torchrun ", "python -m torch.distributed.run "),
        ("--kill-on-bad-exit=1", "-K1"),
        ("--kill-on-bad-exit=1", "--kill-on-bad-exit=1 --gpu-bind=none"),
        ('--nnodes="$SLURM_NNODES"', "--nnodes=4"),
        ('--nproc-per-node="$SLURM_GPUS_ON_NODE"', "--nproc_per_node=2"),
        ("--node-rank=\"$SLURM_NODEID\"", "--node-rank=\"$SLURM_PROCID\""),
        (LAST, "bash train.py 2>&1 | tee log\n"),
        (LAST, "bash train.py\necho done\n"),
        (SET, "srun hostname\n" + SET),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_bug_is_left_alone(old: str, new: str) -> None:
    assert [finding.sentences for finding in found(changed(old, new))] == []


def test_a_status_that_is_handed_on_is_not_lost() -> None:
    script = changed(LAST, "bash train.py\nstatus=$?\necho done\nexit $status\n").replace(SET, "")
    assert [finding.rule for finding in found(script)] == []


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("if [ -f train.py ]; then\n", "else\n  echo no\n  exit 1\nfi\n"),
        ("for i in 1; do\n", "done\n"),
        ("main() {\n", '}\nmain "$@"\n'),
        ("case $1 in a)\n", ";;\nesac\n"),
    ],
)
def test_the_end_of_a_block_is_no_command_behind_the_ranks(before: str, behind: str) -> None:
    script = RIGHT.replace(SET, "").replace("srun ", f"{before}srun ").replace(LAST, LAST + behind)
    assert [finding.rule for finding in found(script)] == []
    assert [finding.rule for finding in found(script + "echo done\n")] == ["status-lost"]


def test_a_job_on_one_node_needs_no_srun() -> None:
    script = (
        "#!/bin/bash\n#SBATCH --nodes=1\nset -e\ntorchrun --standalone --nproc-per-node=4 assignment4.py\n"
    )
    assert found(script) == []


def test_a_launcher_that_is_put_together_in_variables_is_found() -> None:
    script = (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nset -e\n"
        'ARGS=(--nnodes 2 --master_port 6000)\nLAUNCHER="torchrun ${ARGS[*]}"\nsrun -K $LAUNCHER train.py\n'
    )
    assert [finding.rule for finding in found(script)] == ["tasks-per-node", "fixed-port"]


def test_a_log_folder_that_is_there_is_right_and_one_that_the_job_makes_too_late(tmp_path: Path) -> None:
    script = changed(OUTPUT, f"--output={tmp_path}/logs/%j.log").replace(
        SET, f"{SET}mkdir -p {tmp_path}/logs\n"
    )
    (finding,) = found(script)
    assert "The mkdir in the script comes too late." in finding.sentences
    (tmp_path / "logs").mkdir()
    assert found(script) == []


def test_findings_come_in_the_order_of_the_lines_and_each_has_three_sentences() -> None:
    script = changed(PORT, "29500").replace(OUTPUT, "--output=logs/x").replace("--kill-on-bad-exit=1 ", "")
    findings = found(script)
    assert [finding.line for finding in findings] == [8, 12, 14]
    assert all(part.endswith(".") for one in findings for part in (one.seen, one.means, one.todo))


def test_every_rule_has_a_bug_here() -> None:
    sources = Path(__file__).parents[2].joinpath("grader/clusters").glob("rules_*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert {*re.findall(r'Finding\(\s*"([a-z0-9-]+)"', text)} == {rule for rule, *_ in BUGS}


def test_every_known_bug_that_a_script_shows_is_a_rule() -> None:
    assert {*FACTS.values()} <= {rule for rule, *_ in BUGS}


HEAD = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#SBATCH --cpus-per-task=96
"""
SHAPES = {
    # The head node's address is asked of itself, and everything else is the tutorial's.
    """nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head=${nodes[0]}
head_ip=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)
srun torchrun --nnodes 4 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $head_ip:29500 a.py
""": ["address-by-hostname", "fixed-port", "kill-on-bad-exit", "srun-cpus"],
    # A launcher in a string, whose variables the node expands, and a log that tee writes.
    """set -eo pipefail
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
MASTER_PORT=6000
LAUNCHER="python -u -m torch.distributed.run --nnodes $SLURM_NNODES --nproc_per_node 8 \\
  --node_rank \\$SLURM_PROCID --master_addr $MASTER_ADDR --master_port $MASTER_PORT"
srun --wait=60 --kill-on-bad-exit=1 bash -c "$LAUNCHER train.py" 2>&1 | tee -a main.log
""": ["fixed-port", "srun-cpus"],
    # All nodes take themselves for the first, and the job is COMPLETED whatever happens.
    """export NODE_RANK=$SLURM_NODEID
export MASTER_PORT=$((10000 + RANDOM % 50000))
srun -K1 -c 96 torchrun --nnodes=$SLURM_NNODES --node_rank=$NODE_RANK --nproc_per_node=$SLURM_GPUS_PER_NODE \\
  --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
echo "done"
""": ["expanded-too-early", "gpus-per-node-variable", "port-range", "status-lost"],
    # torchrun started by every task, and variables that stay in the script.
    """#SBATCH --ntasks-per-node=8
NCCL_SOCKET_IFNAME=hsn0
FI_PROVIDER=cxi
srun -K1 --cpus-per-task=7 torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d \\
  --rdzv_endpoint=$(scontrol show hostnames | head -1):$((10000 + SLURM_JOB_ID % 20000)) train.py
""": ["not-exported", "not-exported", "tasks-per-node"],
}


@pytest.mark.parametrize("body", SHAPES)
def test_scripts_of_the_shapes_that_are_in_public_use_are_told_what_is_wrong_and_no_more(body: str) -> None:
    assert sorted(finding.rule for finding in found(HEAD + body)) == SHAPES[body]


@pytest.mark.fuzz
@given(st.binary(max_size=80), st.sampled_from([b"#!/bin/bash\n#SBATCH ", RIGHT.encode(), b""]))
def test_no_bytes_stop_the_lint(content: bytes, before: bytes) -> None:
    lint(before + content)
