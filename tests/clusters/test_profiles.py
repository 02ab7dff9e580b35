"""The catalogue: every profile is read, every fact has a source, and mistakes are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.clusters.load import ProfileError, find_profile, load_profile, profile_paths
from tests.clusters.golden import PROFILES


def test_there_are_at_least_25_sites_and_the_two_that_are_none() -> None:
    assert len(PROFILES) >= 27
    assert {"generic", "local"} <= {*PROFILES}


@pytest.mark.parametrize("cluster", PROFILES)
def test_every_fact_of_a_profile_has_a_comment_that_says_where_it_is_from(cluster: str) -> None:
    lines = PROFILES[cluster].read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    bare = [line for line in lines if line.strip() and not re.search(r"(^|\s)# \S", line)]
    # Its name, the tables' heads, and the brackets of a list whose items have their comments.
    assert [line for line in bare if not re.match(r"title = |\[\w+\]$|setup = \[$|\]$", line)] == []


@pytest.mark.parametrize("cluster", PROFILES)
def test_what_a_site_demands_has_an_example_and_nothing_else_has(cluster: str) -> None:
    profile = load_profile(PROFILES[cluster])
    assert {*profile.example} == {*profile.required}


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("title = 'x'\ntitel = 'x'", "titel", "No such key is known here. Did you mean title?"),
        ("title = 'x'\n[gpus]\nasks = 'gres'", "gpus.asks", "Did you mean ask?"),
        ("title = 'x'\n[limits]\nwatts = 3", "limits.watts", "There are nodes, hours, jobs."),
        ("title = 'x'\n[gpus]\nask = 'gpu'", "gpus.ask", "'none', 'gres', 'gpus-per-node'"),
        ("title = 'x'\n[settings]\nnodes = 0", "settings.nodes", "at least 1"),
        ("title = 'x'\n[settings]\npartition = 'a b'", "settings.partition", "with commas between them"),
        ("title = 'x'\ndirectives = ['--mem=1 --uid=0']", "directives[1]", "an option of sbatch"),
        ("title = 'x'\n[environment]\n'A-B' = '1'", "environment.A-B", "name of an environment variable"),
        ("title = 'x'\nsetup = [\"a\\nb\"]", "setup[1]", "one line"),
        ("title = 'x'\nrequired = ['account']", "example", "account"),
        ("title = ''", "title", "must not be empty"),
        ("title = ", "", "no TOML"),
    ],
)
def test_a_mistake_is_named_with_file_key_and_what_is_allowed(
    text: str, key: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ProfileError) as caught:
        load_profile(path)
    assert str(caught.value).startswith(f"{path}: {key}")
    assert words in str(caught.value)


def test_an_unknown_cluster_is_refused_with_one_that_is_near() -> None:
    with pytest.raises(ProfileError, match="Did you mean perlmutter"):
        find_profile("perlmuter", None)


def test_a_course_can_add_a_cluster_and_replace_one(tmp_path: Path) -> None:
    folder = tmp_path / "slurm" / "clusters"
    folder.mkdir(parents=True)
    for name in ("ours", "vista"):
        (folder / f"{name}.toml").write_text(f"title = 'Our {name}'\n")
    assert {*profile_paths(tmp_path)} == {*PROFILES, "ours"}
    assert [find_profile(name, tmp_path).title for name in ("ours", "vista")] == ["Our ours", "Our vista"]
    assert find_profile(str(folder / "ours.toml"), None).title == "Our ours"
