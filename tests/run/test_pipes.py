from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.run import pipes
from grader.run.pipes import Output, Status

KEPT = 16 << 10


def test_output_that_is_short_is_kept_whole():
    output = Output()
    for piece in (b"a\n", b"", "é".encode(), b"\xff"):
        output.add(piece)
    assert output.text() == "a\né\ufffd"


def test_of_long_output_the_beginning_and_the_end_are_kept_and_the_rest_is_counted():
    output = Output()
    output.add(b"first" + b"x" * 100_000)
    output.add(b"last")
    assert output.text().startswith("first")
    assert output.text().endswith("last")
    assert f"[... {output.total - 2 * KEPT} bytes left out ...]" in output.text()


@given(st.lists(st.integers(0, 20_000), max_size=20))
@pytest.mark.fuzz
def test_output_is_bounded_whatever_the_pieces(sizes):
    output, whole = Output(), b""
    for index, size in enumerate(sizes):
        piece = bytes([97 + index]) * size
        output.add(piece)
        whole += piece
    text = output.text()
    assert output.total == len(whole)
    assert len(text) <= 2 * KEPT + 60
    assert text.startswith(whole[:KEPT].decode()[:KEPT])
    assert text.endswith(whole[-100:].decode())


def test_status_lines_are_put_together_from_pieces():
    status = Status()
    for piece in (b'{"event": "sta', b'rted"}\n{"event": "case", "case"', b': 2}\n{"event"'):
        status.add(piece)
    assert (status.started, status.case, status.finished) == (True, 2, False)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"7",
        b"[]",
        b'"started"',
        b"\xff",
        b'{"event": {}}',
        b"[" * 10_000,
        b"1" * 5000,
        b'{"case": 1}',
        b'{"event": "case"}',
        b'{"event": "case", "case": "1"}',
    ],
    ids=range(11),
)
def test_a_status_line_that_means_nothing_changes_nothing(line):
    status = Status()
    status.add(line + b"\n")
    assert status == Status()


def test_a_status_line_without_an_end_is_not_kept_for_ever():
    status = Status()
    for _ in range(100):
        status.add(b"x" * 10_000)
    assert len(status._rest) <= 1 << 14


def test_reading_tells_nothing_yet_from_the_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = pipes.open_reader(pipe)
    writer = os.open(pipe, os.O_WRONLY)
    assert pipes.read_available(reader) is None
    pipes.say(writer, "case", case=1)
    assert pipes.read_available(reader) == b'{"event": "case", "case": 1}\n'
    os.close(writer)
    assert pipes.read_available(reader) == b""
    os.close(reader)


def test_saying_something_never_fails_the_rank(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = pipes.open_reader(pipe)
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    for _ in range(10_000):
        pipes.say(writer, "started")  # the pipe is full long before the last
    os.close(reader)
    pipes.say(writer, "started")
    os.close(writer)
    pipes.say(writer, "started")


def test_what_is_nested_in_an_operation_goes_no_further() -> None:
    status = Status()
    deep = "[" * 900 + "]" * 900
    status.add(
        b'{"event": "waits", "operation": {"name": "all_reduce", "shape": [2, 3], "a": %s}}\n' % deep.encode()
    )
    assert status.waits == {"name": "all_reduce", "shape": [2, 3]}
