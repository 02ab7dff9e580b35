"""What a rendered script does when it runs, with stand-ins for Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.clusters.choose import choose_settings
from grader.clusters.profile import Profile
from grader.clusters.render import render
from tests.clusters.golden import rendered
from tests.clusters.stand_ins import Ran, add_program, run_script

HOSTILE = 'it\'s; $(touch x) `touch y` "$HOME" && # é'


def run(folder: Path, script: str, *arguments: str, **environment: str) -> Ran:
    (folder / "assignment4.py").touch()
    return run_script(script, folder, *arguments, **environment)


def test_every_node_starts_its_ranks_with_its_own_number_and_one_place_to_meet(tmp_path: Path) -> None:
    ran = run(tmp_path, rendered("generic"))
    assert (ran.status, len(ran.nodes)) == (0, 3)
    for number, node in enumerate(ran.nodes):
        assert node["words"] == [
            "-m", "torch.distributed.run", "--nnodes=3", f"--node-rank={number}", "--nproc-per-node=2",
            "--master-addr=n1", "--master-port=13456", "assignment4.py",
        ]  # fmt: skip
        assert node["environment"]["OMP_NUM_THREADS"] == "2"
        assert node["environment"]["SLURM_EXPORT_ENV"] == "ALL"
    assert ran.srun == [
        "--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--cpus-per-task=4", "--kill-on-bad-exit=1",
        "--label",
    ]  # fmt: skip


@pytest.mark.parametrize(("gpus", "ranks"), [("", "1"), ("0", "1"), ("4", "4")])
def test_a_node_starts_a_rank_for_each_of_its_gpus_and_one_where_it_has_none(
    gpus: str, ranks: str, tmp_path: Path
) -> None:
    ran = run(tmp_path, rendered("generic"), SLURM_GPUS_ON_NODE=gpus)
    assert {node["words"][4] for node in ran.nodes} == {f"--nproc-per-node={ranks}"}


def test_a_number_of_ranks_that_was_set_holds_whatever_slurm_gives(tmp_path: Path) -> None:
    ran = run(tmp_path, rendered("generic", "ranks_per_node=8"))
    assert ran.nodes[0]["words"][4] == "--nproc-per-node=8"
    assert ran.nodes[0]["environment"]["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("failing", ["0", "1", "2"])
def test_the_status_is_that_of_the_node_that_failed(failing: str, tmp_path: Path) -> None:
    assert run(tmp_path, rendered("generic"), **{f"STATUS_OF_{failing}": "3"}).status == 3


def test_a_node_that_srun_ends_for_anothers_fault_does_not_hide_torchruns_status(tmp_path: Path) -> None:
    assert run(tmp_path, rendered("generic"), STATUS_OF_0="1", TERMINATED="2").status == 1


def test_another_file_and_its_arguments_follow_the_script_each_as_one_word(tmp_path: Path) -> None:
    (tmp_path / "my lab.py").touch()
    ran = run(tmp_path, rendered("generic"), "my lab.py", "--text", HOSTILE, "")
    assert [node["words"][-4:] for node in ran.nodes] == [["my lab.py", "--text", HOSTILE, ""]] * 3
    assert not {"x", "y"} & {*os.listdir(tmp_path)}


def test_a_file_that_is_not_there_and_a_missing_slurm_are_sentences_with_status_2(tmp_path: Path) -> None:
    ran = run(tmp_path, rendered("generic"), "assignment5.py")
    assert ran.status == 2 and not ran.nodes
    assert f"There is no assignment5.py in {tmp_path}: change into its folder" in ran.err
    other = tmp_path / "other"
    other.mkdir()
    ran = run(other, rendered("generic"), SLURM_JOB_ID="")
    assert ran.status == 2 and "submit it with sbatch" in ran.err


@pytest.mark.parametrize("name", ["script", "python", "venv", "image"])
def test_a_hostile_value_is_one_word_for_bash_and_runs_nothing(name: str, tmp_path: Path) -> None:
    profile = Profile.model_validate({"title": "x", "container": ["contain", "{image}"]})
    script = render("x", profile, choose_settings(profile, [f"{name}={HOSTILE}"], tmp_path))
    stand_ins = tmp_path / "stand-ins"
    stand_ins.mkdir()
    contain = "import os, sys; os.environ['IMAGE'] = sys.argv[1]; os.execvp(sys.argv[2], sys.argv[2:])"
    add_program(tmp_path, "contain", contain)
    if name == "python":
        (stand_ins / HOSTILE).symlink_to("python3")
    elif name == "venv":
        (tmp_path / HOSTILE / "bin").mkdir(parents=True)
        (tmp_path / HOSTILE / "bin" / "activate").write_text("export ACTIVATED=yes\n")
    else:
        (tmp_path / HOSTILE).touch()
    ran = run(tmp_path, script)
    assert (ran.status, len(ran.nodes)) == (0, 3), ran.err
    words, environment = ran.nodes[0]["words"], ran.nodes[0]["environment"]
    assert words[-1] == (HOSTILE if name == "script" else "assignment4.py")
    assert environment.get("IMAGE") == (HOSTILE if name == "image" else None)
    assert environment.get("ACTIVATED") == ("yes" if name == "venv" else None)
    assert not {"x", "y"} & {*os.listdir(tmp_path)}


def test_an_interface_that_the_node_does_not_have_is_not_named_to_the_ranks(tmp_path: Path) -> None:
    ran = run(tmp_path, rendered("generic", "interfaces=absent0,lo"))
    assert not {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} & {*ran.nodes[0]["environment"]}
    other = tmp_path / "other"
    other.mkdir()
    environment = run(other, rendered("generic", "interfaces=lo,absent0")).nodes[0]["environment"]
    assert (environment["NCCL_SOCKET_IFNAME"], environment["GLOO_SOCKET_IFNAME"]) == ("lo,absent0", "lo")


def test_the_first_host_gets_the_suffix_of_the_site_and_the_environment_is_exported(tmp_path: Path) -> None:
    profile = Profile.model_validate(
        {"title": "x", "host_suffix": "i", "environment": {"FI_PROVIDER": HOSTILE}}
    )
    ran = run(tmp_path, render("x", profile, choose_settings(profile, [], tmp_path)))
    assert ran.nodes[2]["words"][5] == "--master-addr=n1i"
    assert ran.nodes[2]["environment"]["FI_PROVIDER"] == HOSTILE


@pytest.mark.parametrize("job", ["1", "29", "99999999"])
def test_the_port_is_between_the_reserved_ones_and_those_that_linux_gives_out(
    job: str, tmp_path: Path
) -> None:
    ran = run(tmp_path, rendered("generic"), SLURM_JOB_ID=job)
    assert 10000 <= int(ran.nodes[0]["environment"]["MASTER_PORT"]) < 30000


def test_local_runs_without_slurm_keeps_both_streams_and_the_status(tmp_path: Path) -> None:
    ran = run(tmp_path, rendered("local"), SLURM_JOB_ID="", SLURM_NODEID="", STATUS_OF_0="3")
    assert ran.status == 3
    assert ran.nodes[0]["words"] == [
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", "assignment4.py",
    ]  # fmt: skip
    assert (ran.out, ran.err) == ("printed by 0\n", "said by 0\n")
    kept = [(tmp_path / f"assignment4_local.{end}").read_text() for end in ("log", "err")]
    assert kept == [ran.out, ran.err]
