"""Submissions that attack: their job ends for the right reason, all of it, and nobody else notices."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.run.made import FILES_OF_ONE_RANK, left_of, processes_with, raised, record, results, told

pytestmark = pytest.mark.sandbox

DAEMON = """
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    tell(daemon=os.getpid())
    while True:
        time.sleep(0.01)
os.wait()
"""
KILL_THE_OTHERS = """
if RANK == 0:
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
time.sleep(60)
"""
NEVER_END = {
    "an endless loop": "while True: pass",
    "a loop that ignores every signal": """
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True: time.sleep(1)
    """,
    "a sibling that is stopped": """
        if RANK == 0:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                if int(pid) not in (1, os.getpid()): os.kill(int(pid), signal.SIGSTOP)
        # It may have told the first barrier that it is there before it was stopped.
        dist.barrier()
        dist.barrier()
    """,
    "a daemon and a loop": DAEMON + "while True: time.sleep(1)",
}


@pytest.fixture(autouse=True)
def nothing_is_left(jail):
    """After every job only bubblewrap and the agent are there, and the host has no new mount."""
    if not jail.idle:
        jail("")
        jail.idle.update(processes_with(jail.token))
    yield
    assert left_of(jail.token, jail.idle) == {}
    assert jail.folder.parent.name not in Path("/proc/self/mounts").read_text()


def test_a_job_that_never_ends_is_ended_at_its_time_limit_beside_one_that_is_not_disturbed(jail):
    *ended, right = jail.at_once(*NEVER_END.values(), "time.sleep(1)", world_size=2)
    ends = {name: result.ended for name, result in zip(NEVER_END, ended, strict=True)}
    assert ends == dict.fromkeys(NEVER_END, "time-limit")
    left = {name: results(result) for name, result in zip(NEVER_END, ended, strict=True)}
    assert left == {name: {} for name in NEVER_END}
    assert right.ended == "finished"
    assert results(right).keys() > FILES_OF_ONE_RANK


def test_ranks_that_wait_for_each_other_are_ended_before_the_time_limit(jail):
    result = jail("dist.recv(torch.zeros(1), src=(RANK + 1) % WORLD_SIZE)", 2)
    assert (result.ended, results(result)) == ("deadlock", {})


@pytest.mark.parametrize(
    "body",
    [
        "bomb = lambda: [os.fork() for _ in range(3)]\nwhile True:\n  try: bomb()\n  except OSError: pass",
        "for _ in range(500): threading.Thread(target=time.sleep, args=(60,)).start()\ntime.sleep(60)",
    ],
    ids=["processes", "threads"],
)
def test_a_fork_bomb_ends_at_the_process_limit(jail, body):
    assert jail(body).ended == "process-limit"


@pytest.mark.parametrize(
    ("body", "world_size"),
    [
        ("kept = []\nwhile True: kept.append(bytearray(b'x' * (4 << 20)))", 1),
        ("kept = torch.ones(230 << 20, dtype=torch.uint8); time.sleep(60)", 4),
        ("if os.fork() == 0: kept = b'x' * (450 << 20)\nkept = b'x' * (450 << 20); time.sleep(60)", 1),
        ("import mmap; kept = mmap.mmap(-1, 2 << 30)\nfor i in range(2 << 10): kept.write(b'x' << 20)", 1),
    ],
    ids=["one rank", "spread over the ranks", "spread over processes", "shared memory"],
)
def test_memory_ends_at_the_limit_of_the_whole_job(jail, body, world_size):
    result = jail(body.replace("b'x' << 20", "b'x' * (1 << 20)"), world_size)
    assert (result.ended, results(result)) == ("memory-limit", {})


def test_a_single_huge_allocation_fails_in_the_student_s_code(jail):
    result = jail("bytearray(1 << 40)")
    assert (result.ended, raised(result)) == ("died", "MemoryError")


@pytest.mark.parametrize(
    "body",
    [
        "while True: print('x' * 1000)",
        "while True: os.write(2, b'\\xff' * 1000)",
        "subprocess.run(['yes'])",
        DAEMON.replace("time.sleep(0.01)", "print('x' * 1000)") + "time.sleep(60)",
    ],
    ids=["print", "bytes on stderr", "a program", "a daemon"],
)
def test_endless_output_ends_at_its_limit_and_is_kept_short(jail, body):
    result = jail(body)
    assert result.ended == "output-limit"
    assert len(result.ranks[0].output) < 64 << 10


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(100): open(f'/tmp/{i}', 'wb').write(b'x' * (1 << 20))",
        "for i in range(100_000): open(f'/tmp/job/artifacts/case{i % 1000}-rank{i}.json', 'w')",
        "for i in range(1000): open(f'/dev/shm/{i}', 'wb').write(b'x' * (1 << 16))",
    ],
    ids=["bytes", "files without content", "shared memory"],
)
def test_a_full_disk_ends_the_job_at_the_output_limit(jail, body):
    result = jail(body)
    assert (result.ended, result.detail.split(";")[0]) == ("output-limit", "24 MiB of files")


def test_a_daemon_ends_with_its_job_and_cannot_change_what_the_rank_left(jail):
    rewrite = "\n        open('/tmp/job/artifacts/case0-rank0.json', 'w').write('{}')\n"
    late = DAEMON.replace("time.sleep(0.01)", "time.sleep(0.5)" + rewrite)
    result = jail(late)
    assert result.ended == "finished"
    assert told(result)["daemon"]
    assert record(result)["outcome"] == "returned"


@pytest.mark.parametrize(
    "body",
    ["os._exit(0)", "if RANK == 1: os._exit(0)\ndist.barrier()", "os.kill(os.getpid(), signal.SIGKILL)"],
    ids=["every rank", "one rank", "by a signal"],
)
def test_a_rank_that_ends_itself_leaves_nothing_and_is_seen(jail, body):
    result = jail(body, 2)
    assert result.ended == "died"
    assert "case0-rank1.json" not in result.files
    assert not result.ranks[1].finished


def test_a_crash_below_python_names_its_signal(jail):
    result = jail("if RANK == 1: ctypes.string_at(0)\ntime.sleep(60)", 2)
    assert result.ended == "died"
    assert "SIGSEGV" in result.detail


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("sys.exit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def down(): down()\ndown()", "RecursionError"),
        ("class Odd(Exception):\n  __str__ = lambda self: 1 / 0\nraise Odd", "Odd"),
        ("raise SyntaxError('odd', (7, 'x', [], None))", "SyntaxError"),
    ],
)
def test_what_leaves_the_student_s_code_is_recorded(jail, body, error):
    result = jail(body)
    assert (result.ended, raised(result)) == ("died", error)


def test_a_rank_without_its_standard_streams_is_graded_all_the_same(jail):
    result = jail("os.close(1); os.close(2); sys.stdout = sys.stderr = None")
    assert result.ended == "finished"
    assert results(result).keys() == FILES_OF_ONE_RANK


def test_a_rank_that_closes_its_status_pipe_is_taken_for_gone(jail):
    result = jail("os.closerange(3, 1 << 10); time.sleep(60)")
    assert result.ended == "died"


def test_saying_finished_is_not_leaving_a_result(jail):
    result = jail(
        """
        for rank in range(WORLD_SIZE):
            with open(f"/tmp/job/status{rank}", "w") as pipe:
                pipe.write('[' * 5000 + '\\n{"event": []}\\n7\\n{"event": "case", "case": 1e9}\\n')
                pipe.write('{"event": "finished"}\\n')
        time.sleep(60)
        """,
        2,
    )
    assert (result.ended, results(result)) == ("finished", {})


def test_the_launcher_cannot_be_killed_from_inside(jail):
    result = jail("os.kill(1, signal.SIGKILL); os.kill(1, signal.SIGSTOP); time.sleep(0.3)")
    assert result.ended == "finished"
    assert results(result).keys() == FILES_OF_ONE_RANK


@pytest.mark.parametrize(
    "body",
    [
        KILL_THE_OTHERS,
        "os.kill(1, signal.SIGTERM); time.sleep(60)",
        "if RANK == 0: os.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)",
        "import shutil; shutil.rmtree('/tmp/job'); os._exit(0)",
    ],
    ids=["every other process", "the launcher", "the launcher, as by Ctrl-C", "its own folder"],
)
def test_sabotage_is_the_student_s_failure_and_never_the_grader_s(jail, body):
    for result in jail.at_once(body, body, body, world_size=3):
        assert result.ended == "died"
        assert "case0-rank0.json" not in result.files


FORGE = """
folder = "/tmp/job/artifacts"
os.mkfifo(folder + "/case1-rank0.json")
os.symlink("/etc/passwd", folder + "/case2-rank0.json")
os.symlink("/proc/self/environ", folder + "/case2-rank0.safetensors")
os.mkdir(folder + "/case3-rank0.json")
with open(folder + "/case4-rank0.safetensors", "wb") as file:
    file.truncate(24 << 20)
sock = socket.socket(socket.AF_UNIX); sock.bind(folder + "/case5-rank0.json")
for name in ("../case6-rank0.json", "case6-rank0.json.bak", "case-1-rank0.json", "other"):
    open(os.path.join(folder, name), "w").write("x")
open(folder + "/case7-rank0.json", "w").close(); os.chmod(folder + "/case7-rank0.json", 0)
"""


def test_a_forged_artifact_neither_blocks_nor_leaks(jail):
    result = jail(FORGE)
    assert result.ended == "finished"
    assert results(result).keys() == FILES_OF_ONE_RANK | {"case7-rank0.json"}
    assert "not a regular file" in result.detail


def test_a_folder_of_artifacts_that_leads_elsewhere_leads_nowhere(jail):
    result = jail(
        """
        os.rename("/tmp/job/artifacts", "/tmp/job/old")
        os.symlink("/submission", "/tmp/job/artifacts")
        os._exit(0)
        """
    )
    assert (result.ended, results(result)) == ("died", {})


def test_an_artifact_that_cannot_be_written_ends_in_the_student_s_failure(jail):
    result = jail(
        "os.mkfifo('/tmp/job/artifacts/case0-rank0.safetensors'); os.chmod('/tmp/job/artifacts', 0)"
    )
    assert result.ended in ("died", "time-limit")
    assert "case0-rank0.json" not in result.files


def test_a_tracer_finds_nothing_to_trace_but_its_own_job(jail):
    body = """
    libc = ctypes.CDLL(None)
    others = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
    tell(others=others, names=[open(f"/proc/{pid}/comm").read() for pid in others])
    """
    assert len(told(jail(body))["others"]) <= 2


def test_the_agent_still_serves_after_all_of_this(jail):
    result = jail("tell(rank=RANK)", 4)
    assert result.ended == "finished"
    assert len(results(result)) == 8
    assert psutil.pid_exists(next(iter(jail.idle)))
