"""A rank's share of the data comes whole, to it alone, however little a pipe holds."""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from grader.job import Limits
from grader.run import shares
from grader.run.shares import Delivery
from grader.run.watch import RankPipes, Watch
from grader.run.workspace import Workspace
from tests.run.made import ROOT, told

TAKE = """
import hashlib, sys
from pathlib import Path
from grader.run import shares
from grader.run.workspace import Workspace
_, folder, name, length = sys.argv
print(hashlib.sha256(shares.take(Workspace(Path(folder)), name, int(length))).hexdigest())
"""
LARGE = random.Random(1).randbytes(2 << 20)
SHARES = {"case0-rank0": LARGE, "case0-rank1": LARGE[::-1], "case1-rank0": b"short"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def delivery_of(given: dict[str, bytes], workspace: Workspace, missing: int = 0) -> Delivery:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        shares.hand_over(ours, given.values())
        lengths = {name: len(data) + missing for name, data in given.items()}
        return Delivery.receive(theirs, lengths, workspace, os.geteuid())


@pytest.fixture
def delivery(workspace: Workspace) -> Iterator[Delivery]:
    made = delivery_of(SHARES, workspace)
    yield made
    made.close()


def a_rank_that_takes(workspace: Workspace, name: str) -> subprocess.Popen[str]:
    # A process of its own: one that takes a share closes its memory to others for good.
    arguments = [sys.executable, "-c", TAKE, str(workspace.root), name, str(len(SHARES[name]))]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def open_memory_files() -> list[str]:
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:  # that of the listing itself
            continue
    return [link for link in links if "memfd:shares" in link]


@pytest.mark.parametrize("holds", [4096, 65536])
def test_a_share_larger_than_its_pipe_arrives_whole_while_the_rank_reads(workspace, delivery, holds):
    for pipe in delivery.waiting():
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, holds)
    ranks = {name: a_rank_that_takes(workspace, name) for name in SHARES}
    while delivery.waiting():
        delivery.feed()
    taken = {name: rank.communicate(timeout=60)[0].strip() for name, rank in ranks.items()}
    assert taken == {name: hashlib.sha256(data).hexdigest() for name, data in SHARES.items()}
    for name in SHARES:  # and it is there once only
        again = os.open(workspace.share(name), os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(BlockingIOError):
            os.read(again, 1)
        os.close(again)


def test_delivering_waits_for_nobody_and_pipes_keep_their_size(workspace, delivery):
    before = [fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) for pipe in delivery.waiting()]
    large = delivery.waiting()[:2]
    for _ in range(3):
        delivery.feed()
    assert delivery.waiting() == large  # the short one is in its pipe, which nobody has opened yet
    assert [fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) for pipe in large] == before[:2]
    assert a_rank_that_takes(workspace, "case1-rank0").communicate(timeout=60)[0]


def test_when_all_is_delivered_nothing_is_left_to_read_it_from_again(workspace):
    delivery = delivery_of({"case0-rank0": b"one", "case0-rank1": b"two"}, workspace)
    assert len(open_memory_files()) == 1
    delivery.feed()
    assert (delivery.waiting(), open_memory_files()) == ([], [])
    delivery.close()


def test_a_job_that_ends_early_leaves_no_file_of_shares_open(workspace):
    delivery = delivery_of(SHARES, workspace)
    delivery.feed()
    assert len(open_memory_files()) == 1
    delivery.close()
    assert open_memory_files() == []


def test_the_file_of_shares_cannot_be_changed():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        shares.hand_over(ours, SHARES.values())
        _, (file,), _, _ = socket.recv_fds(theirs, 1, 1)
    for change in (lambda: os.pwrite(file, b"x", 0), lambda: os.ftruncate(file, 1)):
        with pytest.raises(PermissionError):
            change()
    os.close(file)


def test_a_file_that_is_too_short_is_said_and_not_waited_for(workspace):
    delivery = delivery_of({"case0-rank0": b"one"}, workspace, missing=1)
    with pytest.raises(OSError, match="ended before its last share"):
        delivery.feed()
    delivery.close()


def test_without_shares_nothing_is_received_and_nothing_waits(workspace):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        delivery = Delivery.receive(theirs, {}, workspace, os.geteuid())
    delivery.feed()
    assert delivery.waiting() == []
    delivery.close()


RANK = """
import os, sys
from pathlib import Path
from grader.run import pipes, shares
from grader.run.workspace import Workspace
_, folder, rank, length = sys.argv
workspace = Workspace(Path(folder))
status = os.open(workspace.status(int(rank)), os.O_WRONLY)
shares.take(workspace, f"case0-rank{rank}", int(length))
os.write(1, b"took\\n")
pipes.say(status, "started")
os.close(os.open(workspace.go, os.O_RDONLY))
os.write(1, b"runs\\n")
pipes.say(status, "finished")
sys.stdin.read()
"""


def test_no_rank_runs_before_every_rank_has_taken_its_share(workspace):
    job = Workspace(workspace.root / "job")
    job.create({"world_size": 2}, os.geteuid())
    delivery = delivery_of({"case0-rank0": LARGE, "case0-rank1": LARGE}, job)
    said, saying = os.pipe()
    ours, theirs = socket.socketpair()

    def start(code: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=saying, cwd=ROOT)

    def next_word() -> str:
        assert select.select([said], [], [], 60)[0], "a rank said nothing"
        return os.read(said, len("took\n")).decode().strip()

    launcher = start("import sys; sys.stdin.read()")
    pipes_of_ranks = [RankPipes.open(job, rank) for rank in (0, 1)]
    watch = Watch(launcher.pid, pipes_of_ranks, job.go, delivery, theirs, Limits(), 0, jailed=False)
    with ThreadPoolExecutor(1) as pool, ours, theirs:
        end = pool.submit(watch.until_over)
        first = start(RANK, str(job.root), "0", str(len(LARGE)))
        heard = [next_word()]
        second = start(RANK, str(job.root), "1", str(len(LARGE)))  # the first has long said that it is there
        heard += [next_word() for _ in range(3)]
        assert end.result(timeout=60) == ("finished", "")
    for process in (launcher, first, second):
        process.communicate(timeout=60)
    for descriptor in (said, saying):
        os.close(descriptor)
    delivery.close()
    assert heard == ["took", "took", "runs", "runs"]


# A piece of each rank's weight, in halves: whoever looks for it must not hold what it looks for.
LOOK_FOR_SHARES = """
import re
shapes, pieces = SHAPES, PIECES

def found(pid, first, second):
    count = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            low, high, access = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
            low, high = int(low, 16), int(high, 16)
            if not access.startswith("rw"):
                continue
            for start in range(low, high, 4 << 20):
                memory.seek(start)
                try:
                    part = memory.read(min(high - start, (4 << 20) + 32))
                except OSError:
                    continue
                at = part.find(first)
                while at >= 0:
                    count += part[at + 16 : at + 32] == second
                    at = part.find(first, at + 1)
    return count

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return error.strerror

def rest(name):
    return os.read(os.open("/tmp/job/" + name, os.O_RDONLY | os.O_NONBLOCK), 1)

left = {name: attempt(rest, name) for name in os.listdir("/tmp/job") if name.startswith("share-")}
weight = torch.randn(shapes[RANK])
# Its own memory, which it may open to itself again, and that of the process which it was forked from.
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
halves = [(bytes.fromhex(first), bytes.fromhex(second)) for first, second in pieces]
own = [found("self", *half) for half in halves]
first = [attempt(found, 1, *half) for half in halves]
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
files = [
    os.readlink(entry.path)
    for pid in ("self", 1)
    for entry in list(os.scandir(f"/proc/{pid}/fd"))
    if os.path.lexists(entry.path)
]
tell(sum=weight.double().sum().item(), left=left, own=own, first=first, files=files)
"""


def piece(weight: torch.Tensor) -> tuple[str, str]:
    data = weight.numpy().tobytes()[4096:4128]
    return data[:16].hex(), data[16:].hex()


@pytest.mark.sandbox
def test_each_rank_has_its_own_share_whole_and_nothing_has_another_s(jail):
    # One is read at once, the other only in many pieces.
    weights = [torch.randn(64, 64), torch.randn(2048, 1024)]
    body = LOOK_FOR_SHARES.replace("SHAPES", repr([list(weight.shape) for weight in weights]))
    result = jail.with_weights(body.replace("PIECES", repr([piece(weight) for weight in weights])), weights)
    assert result.ended == "finished", result
    for rank, weight in enumerate(weights):
        seen = told(result, rank)
        assert seen["sum"] == pytest.approx(weight.double().sum().item())
        assert seen["left"] == {
            f"share-case0-rank{other}": "Resource temporarily unavailable" for other in (0, 1)
        }
        assert seen["own"][rank] > 0  # looking finds what is there
        assert seen["own"][1 - rank] == 0
        assert set(seen["first"]) <= {0, "Permission denied"}
        assert not [link for link in seen["files"] if "memfd" in link]
