"""A session's end, however it comes, leaves nothing running; and the ways of launching agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load

from grader.job import Limits
from tests.run.made import LIMITS, ROOT, left_of, processes_with, record, results, runs_in, told

SETSID_DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.environ.clear()
        time.sleep(600)
    os._exit(0)
os.wait()
"""
BUSY = SETSID_DAEMON + "tell(busy=True)\nwhile True: time.sleep(1)"
PLACES = [pytest.param("bubblewrap", marks=pytest.mark.sandbox), "in_the_open"]


@pytest.fixture(scope="module")
def in_the_open():
    with runs_in("in_the_open") as runs:
        runs("")
        runs.idle.update(processes_with(runs.token))
        yield runs


def ranks_of(runs, at_least):
    """Wait until that many processes are there beyond those of an idle session."""
    deadline = time.monotonic() + 60
    while len(processes_with(runs.token)) < at_least:
        assert time.monotonic() < deadline, "the job did not start"
        time.sleep(0.05)


def test_without_a_sandbox_a_daemon_is_ended_with_its_job(in_the_open):
    result = in_the_open(SETSID_DAEMON, 2)
    assert result.ended == "finished"
    assert left_of(in_the_open.token, in_the_open.idle) == {}


def test_without_a_sandbox_a_daemon_is_ended_with_a_rank_that_ends_itself(in_the_open):
    result = in_the_open(SETSID_DAEMON + "os.kill(os.getppid(), signal.SIGKILL); os._exit(0)", 2)
    assert result.ended == "died"
    assert left_of(in_the_open.token, in_the_open.idle) == {}


def test_without_a_sandbox_the_limits_hold_as_well(in_the_open):
    memory, output = in_the_open.at_once(
        "kept = b'x' * (900 << 20); time.sleep(60)", "while True: print('x' * 99)"
    )
    assert (memory.ended, output.ended) == ("memory-limit", "output-limit")


def test_without_a_sandbox_a_job_s_folder_is_removed(in_the_open):
    folder = Path(told(in_the_open("tell(folder=os.getcwd())"))["folder"])
    assert folder.name == "job"
    assert not folder.parent.exists()


@pytest.mark.parametrize("place", PLACES)
def test_closing_a_session_in_the_middle_of_a_job_ends_it_and_returns(place):
    with runs_in(place) as runs:
        runs("")
        idle = len(processes_with(runs.token))
        ended = []
        thread = threading.Thread(target=lambda: ended.append(runs(BUSY, 2).ended))
        thread.start()
        ranks_of(runs, idle + 3)
        runs.session.close()
        thread.join(60)
        assert ended == ["error"]
        assert left_of(runs.token) == {}


def test_closing_a_session_that_has_not_begun_ends_its_agent():
    with runs_in("in_the_open") as runs:
        pass
    assert left_of(runs.token) == {}


GRADER = """
import sys
from tests.run.made import runs_in
from tests.run.test_session import BUSY
with runs_in(sys.argv[1]) as runs:
    print(runs.token, runs.folder.parent, flush=True)
    runs("")
    print("begun", flush=True)
    runs(BUSY, 2)
"""


@pytest.mark.parametrize(
    ("place", "number"),
    [
        pytest.param("bubblewrap", signal.SIGKILL, marks=pytest.mark.sandbox),
        pytest.param("bubblewrap", signal.SIGINT, marks=pytest.mark.sandbox),
        ("in_the_open", signal.SIGKILL),
    ],
)
def test_a_grader_that_is_stopped_leaves_nothing_running(place, number):
    grader = subprocess.Popen(
        [sys.executable, "-c", GRADER, place],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    token, folder = grader.stdout.readline().split()
    assert grader.stdout.readline() == "begun\n"
    idle = len(processes_with(token))
    deadline = time.monotonic() + 60
    while len(processes_with(token)) < idle + 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    grader.send_signal(number)
    assert grader.wait(60) != 0
    grader.stdout.close()
    assert left_of(token) == {}
    if number == signal.SIGKILL:
        subprocess.run(["rm", "-r", folder], check=True)  # nobody else could
    else:
        assert not Path(folder).exists()
    assert folder not in Path("/proc/self/mounts").read_text()


REFERENCE = (ROOT / "reference" / "assignment4.py").read_text()
SIZES = {"global_batch_size": 8, "input_dim": 8, "output_dim": 4}


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_real_torchrun_gives_the_same_files_as_forked_ranks():
    left = {}
    for launcher in ("fork", "torchrun"):
        with runs_in("bubblewrap", launcher, Limits(seconds=120)) as runs:
            (runs.folder / "assignment4.py").write_text(REFERENCE)
            left[launcher] = [
                runs.job("row_parallel", 7, 2, **SIZES),
                runs.job("script", 42, 2, **SIZES),
            ]
    for forked, real in zip(left["fork"], left["torchrun"], strict=True):
        assert (forked.ended, real.ended) == ("finished", "finished")
        assert forked.files.keys() == real.files.keys()
        for name, data in forked.files.items():
            if name.endswith(".safetensors"):
                tensors, others = load(data), load(real.files[name])
                assert tensors.keys() == others.keys()
                assert all(tensors[key].equal(others[key]) for key in tensors)


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_real_torchrun_is_watched_and_ended_as_well():
    with runs_in("bubblewrap", "torchrun", replace(LIMITS, seconds=3)) as runs:
        early, endless = runs.at_once("os._exit(0)", "while True: pass")
        assert (early.ended, endless.ended) == ("died", "time-limit")
        assert results(early) == results(endless) == {}


def test_a_job_is_known_by_its_run_id_in_every_record(in_the_open):
    result = in_the_open("", 2)
    assert {record(result, rank)["run"] for rank in range(2)} == {result.job.run_id}
