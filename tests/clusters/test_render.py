"""What is rendered, and that no value becomes a directive or a command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from grader.clusters.choose import SettingsError, choose_settings, hours
from grader.clusters.lint import lint
from grader.clusters.load import load_profile
from grader.clusters.profile import Profile, Settings
from grader.clusters.render import _environment, render
from grader.clusters.shell import read_commands
from tests.clusters.golden import COMMITTED, GOLDEN, PROFILES, ROOT, golden_path, rendered

SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def directives(script: str) -> list[str]:
    return [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH")]


@pytest.mark.parametrize("cluster", PROFILES)
def test_the_script_is_the_golden_one(cluster: str) -> None:
    assert rendered(cluster) == golden_path(cluster).read_text(encoding="utf-8"), (
        "make golden, and look at git diff"
    )


def test_there_is_no_golden_script_without_a_profile_and_the_committed_script_is_that_of_generic() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*PROFILES}
    assert COMMITTED.read_text(encoding="utf-8") == rendered("generic")


@pytest.mark.parametrize("cluster", PROFILES)
def test_the_lint_finds_nothing_in_a_rendered_script(cluster: str) -> None:
    assert [finding.sentences for finding in lint(rendered(cluster).encode())] == []


def test_shellcheck_and_bash_find_nothing_in_any_rendered_script() -> None:
    paths = [str(golden_path(cluster)) for cluster in PROFILES]
    done = subprocess.run([SHELLCHECK, "--norc", *paths], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    for path in paths:
        assert subprocess.run(["bash", "-n", path]).returncode == 0


def test_a_missing_value_is_an_error_and_never_an_empty_place() -> None:
    with pytest.raises(UndefinedError):
        _environment().from_string("--qos={{ qos }}").render()


@pytest.mark.parametrize("value", ["a b", "a\tb", "a\nb", "a'b", 'a"b', "a`b", "a$b", "a#b", "a\\b"])
def test_a_value_that_passed_every_whitelist_by_mistake_still_stops_in_the_template(value: str) -> None:
    template = _environment().from_string("#SBATCH {{ value | word }}")
    with pytest.raises(ValueError, match="cannot stand in an #SBATCH line"):
        template.render(value=value)
    with pytest.raises(ValueError, match="one line"):
        _environment().from_string("{{ value }}").render(value="a\nb")


@pytest.mark.parametrize(
    ("ask", "kind", "lines"),
    [
        ("none", "", []),
        ("gres", "", ["--gres=gpu:2"]),
        ("gres", "a100", ["--gres=gpu:a100:2"]),
        ("gpus-per-node", "a100", ["--gpus-per-node=a100:2"]),
        ("gpus-per-task", "v100", ["--gpus-per-task=v100:2"]),
        ("gpus", "v100-32", ["--gpus=v100-32:6"]),
        ("gres and gpus-per-node", "", ["--gres=gpu:2", "--gpus-per-node=2"]),
    ],
)
def test_gpus_are_asked_for_in_the_shape_of_the_site(ask: str, kind: str, lines: list[str]) -> None:
    profile = Profile.model_validate({"title": "x", "gpus": {"ask": ask}})
    settings = choose_settings(profile, ["nodes=3", "gpus_per_node=2", f"gpu_type={kind}"], ROOT)
    asked = directives(render("x", profile, settings))
    assert [line for line in asked if "gpu" in line or "gres" in line] == lines
    none = choose_settings(profile, ["gpus_per_node=0"], ROOT)
    assert "gpu:" not in "".join(directives(render("x", profile, none)))


def test_logs_are_named_for_the_hand_in_and_lie_where_sbatch_is_called_or_in_one_absolute_folder() -> None:
    assert directives(rendered("generic"))[-2:] == ["--output=%x_%j.log", "--error=%x_%j.err"]
    settings = choose_settings(
        load_profile(PROFILES["generic"]), ["log_dir=logs", "workdir=."], Path("/course")
    )
    script = render("generic", load_profile(PROFILES["generic"]), settings)
    assert directives(script)[-3:] == [
        "--chdir=/course", "--output=/course/logs/%x_%j.log", "--error=/course/logs/%x_%j.err",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "given", "words"),
    [
        ("perlmutter", [], "for instance --set account=m1234_g"),
        ("perlmutter", ["account=m1234"], "--set account=m1234_g"),
        ("vista", ["mem=4G"], "refuses jobs that set mem"),
        ("vista", ["nodes=65"], "64 nodes at most"),
        ("vista", ["time=2-01:00:00"], "48 hours at most"),
        ("vista", ["gpus_per_node=2"], "has 1 GPUs"),
        ("generic", ["image=x.sif"], "how a container starts"),
        ("generic", ["nodes"], "KEY=VALUE"),
        ("generic", ["nodes=two"], "whole number"),
        ("generic", ["nodes=100001"], "at most 100000"),
        ("generic", ["node=2"], "Did you mean nodes?"),
        ("generic", ["time=soon"], "00:30:00"),
        ("generic", ["script=-m"], "makes it an option"),
        ("generic", ["job_name="], "must not be empty"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(
    cluster: str, given: list[str], words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        choose_settings(load_profile(PROFILES[cluster]), given, ROOT)
    assert words in str(caught.value)


def test_times_are_read_as_sbatch_reads_them() -> None:
    assert [hours(text) for text in ("00:30:00", "1-12", "0-01:30", "2-00:00:36")] == [0.5, 36, 1.5, 48.01]


IN_DIRECTIVES = (
    "job_name", "account", "partition", "qos", "constraint", "reservation", "gpu_type", "mem", "time",
    "log_dir", "workdir",
)  # fmt: skip
IN_SHELL = ("script", "python", "venv", "image", "modules", "interfaces")
FULL = Profile.model_validate(
    {
        "title": "x",
        "container": ["run", "{image}"],
        "container_srun": ["--image={image}"],
        "gpus": {"ask": "gres"},
    }
)
HOSTILE = st.text(st.sampled_from("aZ09 \n\r\t\0\x1b'\"`$;&|#\\<>(){}*?!~=%,:/.@_+-\u2028é"), max_size=12)
NEAR = st.from_regex(r"/?[A-Za-z0-9_.:,@&/-]{1,6}[ \n'\"#$;]?[A-Za-z0-9=-]{0,4}", fullmatch=True)


def accepted(name: str, value: str) -> str:
    """The script with one setting, if it is accepted."""
    try:
        settings = choose_settings(FULL, [f"{name}={value}"], Path("/here"))
    except SettingsError:
        assume(False)
    return render("x", FULL, settings)


RIGHT = {
    "job_name": "lab", "account": "m1_g", "partition": "gpu,ai", "qos": "debug", "constraint": "gpu&hbm80g",
    "reservation": "class", "gpu_type": "a100", "mem": "64G", "time": "1-00:10:00", "log_dir": "/logs",
    "workdir": "/here",
}  # fmt: skip
BREAKING = [chr(code) for code in (*range(33), 127, 0x85, 0xA0, 0x2028)] + list("'\"`$\\#;<>!(){}*?")


@pytest.mark.parametrize("name", IN_DIRECTIVES)
def test_a_sign_that_breaks_a_directive_is_refused_at_every_place_of_a_right_value(name: str) -> None:
    right = RIGHT[name]
    choose_settings(FULL, [f"{name}={right}"], Path("/"))
    for sign in BREAKING:
        for place in range(len(right) + 1):
            with pytest.raises(SettingsError):
                choose_settings(FULL, [f"{name}={right[:place]}{sign}{right[place:]}"], Path("/"))


PLAIN = render("x", FULL, Settings())


@pytest.mark.fuzz
@given(st.sampled_from(IN_DIRECTIVES), HOSTILE | NEAR)
def test_no_accepted_value_begins_a_second_option_or_a_line_of_shell(name: str, value: str) -> None:
    script = accepted(name, value)
    lines = directives(script)
    assert all(
        len(shlex.split(line, comments=True)) == 1 and re.fullmatch(r"--[a-z-]+=\S+", line) for line in lines
    )
    known = {line.partition("=")[0] for line in directives(PLAIN)}
    assert {line.partition("=")[0] for line in lines} <= known | {f"--{name}", "--chdir"}
    assert shell(script) == shell(PLAIN)


def shell(script: str) -> list[str]:
    """The commands of the script, without comments."""
    return [" ".join(word.text for word in command.words) for command in read_commands(script)]


@pytest.mark.fuzz
@given(st.sampled_from(IN_SHELL), HOSTILE | NEAR)
def test_no_accepted_value_begins_a_command_in_the_shell(name: str, value: str) -> None:
    assume(value)
    script = accepted(name, value)
    assert directives(script) == directives(PLAIN)
    assert len(read_commands(script)) == len(read_commands(accepted(name, "a"))) + extra(name, value)


def extra(name: str, value: str) -> int:
    """Each further module is a command of its own."""
    return value.count(",") if name == "modules" else 0
