from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from grader.run.record import Record, describe_error, write


def made() -> Record:
    return Record(run="r", case=0, rank=1, world_size=2)


def written(record: Record, folder: Path):
    write(record, folder)
    return json.loads((folder / "case0-rank1.json").read_text())


def test_tensors_are_written_as_they_were_returned(tmp_path):
    weight = torch.arange(6.0).reshape(2, 3)
    values = {
        "plain": weight,
        "transposed": weight.T,
        "again": weight,
        "view": weight[:, 1:],
        "parameter": torch.nn.Parameter(weight),
        "scalar": torch.tensor(3, dtype=torch.int64),
        "expanded": torch.ones(1).expand(4),
    }
    record = made()
    record.returned(values)
    data = written(record, tmp_path)
    left = load_file(tmp_path / "case0-rank1.safetensors")
    assert list(data["tensors"]) == list(values)
    assert data["tensors"]["transposed"] == {"dtype": "torch.float32", "shape": [3, 2]}
    for name, value in values.items():
        assert left[name].equal(value.detach()), name


class Sub(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "of type NoneType"),
        ([1.0], "of type list"),
        (torch.ones(2).as_subclass(Sub), "subclass"),
        (torch.ones(2).to_sparse(), "no plain dense tensor"),
        (torch.ones(2, device="meta"), "no plain dense tensor"),
        (torch.ones(2, dtype=torch.complex128), "dtype torch.complex128"),
        (torch.ones(1).expand(1 << 30), "more than 16 MiB"),
    ],
)
def test_what_is_no_plain_tensor_is_a_problem_with_a_reason(tmp_path, value, why):
    record = made()
    record.returned({"updated_weight": value})
    data = written(record, tmp_path)
    assert why in data["problems"]["updated_weight"]
    assert data["tensors"] == {}
    assert not (tmp_path / "case0-rank1.safetensors").exists()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool])
def test_other_dtypes_are_kept_for_the_judge_to_name(tmp_path, dtype):
    record = made()
    record.returned({"w": torch.ones(3, dtype=dtype)})
    assert written(record, tmp_path)["tensors"]["w"]["dtype"] == str(dtype)
    assert load_file(tmp_path / "case0-rank1.safetensors")["w"].dtype == dtype


def test_the_default_device_that_a_student_set_does_not_matter(tmp_path):
    record = made()
    record.returned({"w": torch.ones(3)})
    torch.set_default_device("meta")
    try:
        write(record, tmp_path)
    finally:
        torch.set_default_device(None)
    assert load_file(tmp_path / "case0-rank1.safetensors")["w"].tolist() == [1.0, 1.0, 1.0]


def fails(source: str, folder: Path) -> dict:
    file = folder / "assignment4.py"
    file.write_text(source)
    try:
        exec(compile(source, str(file), "exec"), {})
    except BaseException as error:
        return describe_error(error, folder)
    raise AssertionError("nothing was raised")


def test_an_error_is_told_by_the_student_s_own_innermost_line(tmp_path):
    error = fails("import torch\n\ndef f(x):\n    return torch.ones(2) @ x\n\nf(torch.ones(3))\n", tmp_path)
    assert (error["type"], error["file"], error["line"]) == ("RuntimeError", "assignment4.py", 4)
    assert error["code"] == "return torch.ones(2) @ x"
    assert error["stage"] == "call"
    assert "site-packages" not in error["traceback"]
    assert str(tmp_path) not in error["traceback"]


def test_an_error_of_the_file_s_own_statements_is_one_of_loading(tmp_path):
    assert fails("x = 1\nx / 0\n", tmp_path)["stage"] == "load"


def test_a_syntax_error_is_placed_in_the_file(tmp_path):
    error = fails("x = 1\ndef f(:\n", tmp_path)
    assert (error["file"], error["line"], error["stage"]) == ("assignment4.py", 2, "load")


@pytest.mark.parametrize(
    "source",
    [
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "raise ValueError('x' * 10_000_000)",
        "raise SyntaxError('x', (b'bytes', None, None, None))",
        "raise SyntaxError('x', (7, 7, 7, 7))",
        "def down(): down()\ndown()",
        "raise Exception('\\x00\\ud800')",
        "raise BaseExceptionGroup('many', [KeyboardInterrupt()])",
        "exec(compile('1 / 0', '', 'exec'))",
    ],
)
def test_any_exception_gives_a_short_record(tmp_path, source):
    record = made()
    record.raised(fails(source, tmp_path))
    text = json.dumps(written(record, tmp_path))
    assert len(text) < 20_000
