"""Whatever bytes a rank leaves, the judge gives a verdict, and never a passing one for what is not right."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.artifacts import read_artifacts
from tests.judge.made import after, case_of, codes, everywhere, files_of, judge, record, result_of, save

CASE = case_of("data_parallel", world_size=2)
RIGHT = {"weight": after(CASE)}
GOOD = record(CASE, 1, RIGHT)


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("owned",))


def judged_with(record_bytes: bytes, tensor_bytes: bytes | None = None):
    files = files_of(CASE, everywhere(CASE, after(CASE)))
    files["case0-rank1.json"] = record_bytes
    if tensor_bytes is not None:
        files["case0-rank1.safetensors"] = tensor_bytes
    return judge(CASE, result_of(CASE, files))


def changed(**changes: Any) -> bytes:
    return json.dumps(GOOD | changes).encode()


def test_the_record_that_the_others_are_made_from_is_good():
    assert judged_with(changed()).status == "passed"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        json.dumps([GOOD]).encode(),
        b"\xff\xfe\x00",
        json.dumps(GOOD).encode("utf-16"),
        pickle.dumps(Evil()),
        b" " * 2**20 + json.dumps(GOOD).encode(),
        changed(seconds=float("nan")),
        changed(seconds=float("inf")),
        changed(seconds=-1.0),
        changed(message=float("nan")),
        b'{"seconds": 1e999}',
        b'{"case": ' + b"9" * 5000 + b"}",
        changed(rank=True),
        changed(rank=1.0),
        changed(rank="1"),
        changed(rank=0),
        changed(case=False),
        changed(case=1),
        changed(world_size=1),
        changed(run="run-2"),
        changed(run=None),
        changed(run=["run-1"]),
        changed(outcome="passed"),
        changed(outcome="raised"),
        changed(verdict="passed"),
        changed(tensors=[]),
        changed(tensors={}),
        changed(tensors={"weight": {}}),
        changed(tensors={"weight": {"dtype": "torch.float32", "shape": [8, True]}}),
        changed(tensors={"weight": {"dtype": "torch.float32", "shape": [12, 8]}}),
        changed(tensors={"weight": {"dtype": "torch.float64", "shape": [8, 12]}}),
        changed(tensors={"../weight": {"dtype": "torch.float32", "shape": [8, 12]}}),
        changed(tensors={f"t{i}": {"dtype": "torch.float32", "shape": []} for i in range(5000)}),
        changed(problems={"weight": "so"}),
        changed(comparisons=[{"prefix": "a", "line": 1}] * 5000),
        changed(error={"type": "E", "message": "m", "stage": "other"}),
    ],
)
def test_a_record_that_is_not_exactly_right_is_no_record(data):
    verdict = judged_with(data)
    assert verdict.status == "failed"
    assert [rank.status for rank in verdict.ranks] == ["passed", "missing"]
    assert codes(verdict) == ["rank-missing"]
    assert len(verdict.findings[0].message) < 1000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        (2**62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        pickle.dumps(after(CASE)),
        pickle.dumps(Evil()),
        save(RIGHT)[:-1],
        save(RIGHT) + b"\x00",
        save({"other": after(CASE)}),
        save({**RIGHT, "more": after(CASE)}),
        (70).to_bytes(8, "little")
        + b'{"weight":{"dtype":"F32","shape":[9999999,99],"data_offsets":[0,384]}}',
    ],
)
def test_a_tensor_file_that_is_not_exactly_right_makes_the_rank_missing(data, capfd):
    verdict = judged_with(changed(), data)
    assert verdict.status == "failed"
    assert verdict.ranks[1].status == "missing"
    assert "owned" not in capfd.readouterr().out


def test_a_record_without_its_tensor_file_is_no_record():
    files = files_of(CASE, everywhere(CASE, after(CASE)))
    del files["case0-rank0.safetensors"]
    assert judge(CASE, result_of(CASE, files)).ranks[0].status == "missing"


def test_tensors_without_a_record_count_for_nothing():
    files = files_of(CASE, everywhere(CASE, after(CASE)))
    del files["case0-rank1.json"]
    assert judge(CASE, result_of(CASE, files)).status == "failed"


def test_an_artifact_of_another_case_or_rank_does_not_stand_in():
    files = files_of(CASE, everywhere(CASE, after(CASE)))
    files["case0-rank1.json"] = files["case0-rank0.json"]
    files["case1-rank1.json"] = files_of(CASE, {1: RIGHT})["case0-rank1.json"]
    assert judge(CASE, result_of(CASE, files)).status == "failed"


def test_text_of_a_record_reaches_a_finding_bounded_and_without_control_characters():
    error = {
        "type": "E\x1b]0;x\x07rr",
        "message": "\ud800\x00\x1b[2J" + "A" * 100_000,
        "file": "\x07t.py",
        "line": 3,
    }
    verdict = judged_with(changed(outcome="raised", error=error, tensors={}), save({}))
    (finding,) = verdict.findings
    assert (finding.code, finding.file, finding.line) == ("exception", "t.py", 3)
    assert len(finding.message) < 1000
    assert not set(finding.message) & {"\x00", "\x07", "\x1b", "\ud800"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.fuzz
@given(st.binary(max_size=400), st.binary(max_size=400))
def test_random_bytes_never_raise_and_never_pass(record_bytes, tensor_bytes):
    assert judged_with(record_bytes, tensor_bytes).status == "failed"


@pytest.mark.fuzz
@given(st.sampled_from(sorted(GOOD)), json_values, st.integers(0, 2**16))
def test_a_record_with_any_key_changed_gives_a_verdict(key, value, flip):
    data = bytearray(save(RIGHT))
    data[flip % len(data)] ^= 1 << flip % 8
    verdict = judged_with(changed(**{key: value}), bytes(data))
    assert verdict.status in ("passed", "failed")
    for rank in verdict.ranks:
        assert rank.max_diff is None or rank.max_diff < float("inf")


@pytest.mark.fuzz
@given(st.binary(max_size=200))
def test_every_tensor_that_is_read_is_a_plain_one(tail):
    files = {"case0-rank0.json": changed(rank=0), "case0-rank0.safetensors": save(RIGHT) + tail}
    for artifact in read_artifacts(result_of(CASE, files), 0):
        assert all(type(tensor) is torch.Tensor for tensor in artifact.tensors.values())
        assert artifact.record is not None or artifact.problem
