from __future__ import annotations

import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.run import wire
from grader.run.wire import WireError


def received(data: bytes, limit: int = 1 << 20):
    """What `receive` makes of these bytes, after which the sender is gone."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(data)
        return wire.receive(ours, limit)


def framed(header: bytes) -> bytes:
    return struct.pack("!Q", len(header)) + header


def test_a_header_and_its_blobs_arrive_as_they_were_sent():
    ours, theirs = socket.socketpair()
    blobs = {"a": b"", "b": bytes(range(256)) * 20_000}
    with ours, theirs:
        sender = threading.Thread(target=wire.send, args=(theirs, {"ended": "died", "n": [1, None]}, blobs))
        sender.start()
        assert wire.receive(ours, 1 << 24) == ({"ended": "died", "n": [1, None]}, blobs)
        sender.join()


def test_messages_follow_one_another_on_one_connection():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for number in range(3):
            wire.send(theirs, {"n": number}, {"x": bytes([number])})
        assert [wire.receive(ours, 1000)[0]["n"] for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "closed in the middle"),
        (b"\x00\x00", "closed in the middle"),
        (framed(b'{"blobs": [["a", 5]]}') + b"1234", "closed in the middle"),
        (struct.pack("!Q", 1 << 60), "over the limit"),
        (framed(b'{"blobs": [["a", 99999999]]}'), "over the limit"),
        (framed(b'{"blobs": [["a", -1]]}'), "over the limit"),
        (framed(b'{"blobs": [["a", 5000000], ["b", -5000000]]}'), "over the limit"),
        (framed(b"{"), "malformed"),
        (framed(b"[]"), "malformed"),
        (framed(b"{}"), "malformed"),
        (framed(b'{"blobs": 3}'), "malformed"),
        (framed(b'{"blobs": [["a"]]}'), "malformed"),
        (framed(b"\xff\xfe"), "malformed"),
        (framed(b"[" * 100_000), "malformed"),
    ],
)
def test_what_is_no_message_is_refused_without_being_read(data, said):
    with pytest.raises(WireError, match=said):
        received(data)


@given(st.binary(max_size=200))
@pytest.mark.fuzz
def test_any_header_is_a_message_or_a_wire_error(header):
    try:
        received(framed(header))
    except WireError:
        return


def test_a_receiver_that_is_gone_is_an_os_error():
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs, pytest.raises(OSError):
        wire.send(theirs, {}, {"a": b"x" * (1 << 22)})
