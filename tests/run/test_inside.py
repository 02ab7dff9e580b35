"""What a submission can see and do inside the sandbox, told by a submission that looks around."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from tests.run.made import ROOT, told

pytestmark = pytest.mark.sandbox

LOOK_AROUND = """
def attempt(function):
    try:
        return function()
    except OSError as error:
        return error.strerror

def files_below(top):
    return [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]

def status(name):
    return [line.split()[1] for line in open("/proc/self/status") if line.startswith(name)][0]

def write(path):
    with open(path, "w") as file:
        return file.write("x")

libc = ctypes.CDLL(None, use_errno=True)

def call(function, *arguments):
    return 0 if function(*arguments) >= 0 else os.strerror(ctypes.get_errno())

def in_child(function):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(attempt(function)).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(reading, 1000))

def connect(address):
    with socket.socket() as sock:
        sock.settimeout(2)
        sock.connect(address)

tell(
    top=sorted(os.listdir("/")),
    other_submissions=os.listdir("/submissions"),
    mounted_over=call(libc.umount2, b"/submissions", 2),
    grader=sorted(os.path.relpath(path, "/opt/grader") for path in files_below("/opt/grader")),
    rubrics=[path for path in files_below("/opt") + files_below("/submission") if "rubric" in path],
    installed_grader=attempt(lambda: sorted(os.listdir("/opt/site/grader"))),
    staff=os.listdir("/opt/staff"),
    environment=dict(os.environ),
    interfaces=[name for _, name in socket.if_nameindex()],
    outwards=attempt(lambda: connect(("192.0.2.1", 80))),
    processes={pid: open(f"/proc/{pid}/comm").read() for pid in os.listdir("/proc") if pid.isdigit()},
    user=[os.getuid(), os.geteuid(), os.getgid(), os.getgroups()],
    capabilities={name: status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
    no_new_privileges=status("NoNewPrivs"),
    sysctl=attempt(lambda: write("/proc/sys/kernel/hostname")),
    limits=open("/proc/self/limits").read(),
    first_to_go=open("/proc/self/oom_score_adj").read().strip(),
)
import fcntl
fcntl_number = {"x86_64": 72, "aarch64": 25}[os.uname().machine]
_, pipe = os.pipe()
tell(
    writable={
        path: attempt(lambda: write(path + "/probe")) == 1
        for path in (
            "/", "/bin", "/dev", "/dev/shm", "/etc", "/opt", "/opt/grader/grader", "/opt/grader/grader/run",
            "/opt/python", "/opt/site", "/opt/site/torch", "/opt/staff", "/proc", "/submission",
            "/submissions", "/tmp",
            "/usr",
            os.path.dirname(torch.__file__), os.path.dirname(os.__file__),
        )
    },
    submission_mode=attempt(lambda: os.chmod("/submission/assignment4.py", 0o777)),
    tmp_holds=sorted(os.listdir("/tmp")),
    shm_is_in_tmp=os.path.exists("/tmp/shm/probe"),
    mount=call(libc.mount, b"none", b"/tmp/shm", b"tmpfs", 0, b""),
    remount=call(libc.mount, b"none", b"/usr", None, 32 | 4096, b""),
    unmount=call(libc.umount2, b"/tmp", 2),
    user_namespace=in_child(lambda: call(libc.unshare, 0x10000000)),
    network_namespace=in_child(lambda: call(libc.unshare, 0x40000000)),
    larger_pipe=attempt(lambda: fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 17)),
    larger_pipe_in_64_bits=call(libc.syscall, fcntl_number, pipe, ctypes.c_long(1 << 32 | 1031), 1 << 17),
    pipe_holds=fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ),
    other_commands=[fcntl.fcntl(pipe, command) for command in (fcntl.F_GETFD, fcntl.F_GETFL)],
    set_and_got=(fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK), os.get_blocking(pipe)),
    memory_file=attempt(lambda: os.memfd_create("x")),
    segment=call(libc.shmget, 0, 4096, 0o1600),
    keyring=call(libc.syscall, {"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0),
    raise_limit=call(libc.setpriority, 0, 0, -5),
)
with open("/tmp/big", "wb") as file:
    written = 0
    try:
        while True:
            written += file.write(b"x" * (1 << 20))
            file.flush()
    except OSError as error:
        tell(disk=written, full=error.strerror)
os.remove("/tmp/big")
"""


@pytest.fixture(scope="module")
def seen(jail):
    result = jail(LOOK_AROUND)
    assert result.ended == "finished", (result, told(result))
    return told(result)


def test_neither_judge_nor_report_nor_rubric_nor_reference_exists(seen):
    packages = {path.split("/")[1] for path in seen["grader"] if "/" in path}
    assert packages == {"__init__.py", "exercises", "job.py", "lazy_compiler.py", "module_names.py", "run"}
    assert seen["rubrics"] == []
    assert seen["staff"] == ["utils.py"]
    assert not isinstance(seen["installed_grader"], list) or seen["installed_grader"] == []


def test_only_the_systems_folders_and_the_submission_are_there(seen):
    expected = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "sbin", "submission"}
    assert set(seen["top"]) <= expected | {"submissions", "tmp", "usr"}


def test_where_memory_runs_out_a_rank_goes_before_everybody_else(seen):
    assert seen["first_to_go"] == "1000"


def test_no_other_submission_is_seen(jail, seen):
    assert (jail.folder.parent / "another" / "assignment4.py").exists()  # staged beside this one
    assert seen["other_submissions"] == []
    assert seen["mounted_over"] != 0


def test_the_host_s_home_and_temporary_folders_are_not_there(jail, seen):
    assert seen["tmp_holds"] == ["job", "probe", "shm"]
    paths = [str(Path.home()), str(ROOT), str(jail.folder), "/root", "/home", "/var", "/run", "/sys"]
    result = jail(f"tell(there=[path for path in {paths!r} if os.path.exists(path)])")
    assert told(result)["there"] == []


def test_the_environment_holds_nothing_of_the_host_s(seen):
    assert "OF_THE_HOST" in os.environ  # set while the sandbox was started
    assert "OF_THE_HOST" not in seen["environment"]
    ours = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEST_TOKEN", "LD_LIBRARY_PATH"}
    of_torch = ("OMP_", "KMP_", "TORCH", "GLOO_", "MASTER_", "RANK", "LOCAL_", "WORLD_", "GROUP_", "ROLE_")
    others = {name for name in seen["environment"] if not name.startswith(of_torch)} - ours
    assert others <= {"LC_CTYPE", "PWD", "PYTHONUNBUFFERED"}
    assert seen["environment"]["HOME"] == "/tmp/job"


def test_there_is_no_network_but_loopback(seen):
    assert seen["interfaces"] == ["lo"]
    assert seen["outwards"] == "Network is unreachable"


def test_only_the_job_s_own_processes_are_seen(seen):
    # pid 1 is the launcher, and the rank was forked from it; nothing of bubblewrap, agent or warden.
    assert "1" in seen["processes"]
    assert len(seen["processes"]) <= 3
    assert not any("bwrap" in name for name in seen["processes"].values())


def test_the_student_s_code_has_no_privilege(seen):
    assert seen["user"][0] == seen["user"][1] != 0
    assert seen["user"][2] != 0
    assert set(seen["capabilities"].values()) == {"0000000000000000"}
    assert seen["no_new_privileges"] == "1"
    assert seen["raise_limit"] != 0
    for refused in ("mount", "remount", "unmount", "network_namespace"):
        assert seen[refused] == "Operation not permitted"


def test_no_user_namespace_can_be_made_for_there_one_has_every_privilege(seen):
    assert seen["user_namespace"] in ("No space left on device", "Operation not permitted")


def test_kernel_settings_cannot_be_written(seen):
    assert seen["sysctl"] in ("Permission denied", "Read-only file system")


def test_memory_that_belongs_to_no_process_cannot_be_had(seen):
    assert {seen[name] for name in ("memory_file", "segment")} == {"Function not implemented"}


def test_a_pipe_cannot_be_made_larger_for_its_pages_are_all_jobs_in_common(seen):
    assert (seen["larger_pipe"], seen["larger_pipe_in_64_bits"]) == ("Operation not permitted",) * 2
    assert seen["pipe_holds"] <= 1 << 16


def test_whatever_else_fcntl_does_it_still_does(seen):
    assert seen["other_commands"] == [1, 1]  # FD_CLOEXEC, O_WRONLY
    assert seen["set_and_got"] == [0, False]


def test_a_process_has_far_fewer_descriptors_than_the_grader(seen):
    (line,) = [line for line in seen["limits"].splitlines() if line.startswith("Max open files")]
    soft, hard = (int(word) for word in line.split()[3:5])
    _, of_the_grader = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft <= hard == min(1024, of_the_grader // 4)


def test_what_needs_unix_sockets_works(jail):
    body = """
    import asyncio, multiprocessing
    asyncio.run(asyncio.sleep(0))
    one, other = multiprocessing.Pipe()
    one.send("a word")
    tell(received=other.recv())
    """
    assert told(jail(body))["received"] == "a word"


def test_the_instructor_s_keyrings_are_out_of_reach(seen):
    assert seen["keyring"] == "Function not implemented"


def test_the_one_writable_place_is_tmp_and_shared_memory_is_in_it(seen):
    assert {path for path, writable in seen["writable"].items() if writable} == {"/tmp", "/dev/shm"}
    assert seen["shm_is_in_tmp"]
    assert seen["submission_mode"] == "Read-only file system"


def test_the_writable_place_is_small(seen):
    assert seen["disk"] <= 24 << 20
    assert seen["full"] in ("No space left on device", "File too large")


def test_another_job_can_be_neither_seen_nor_reached(jail):
    body = """
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    hidden = socket.socket(socket.AF_UNIX); hidden.bind("\\0of-this-job"); hidden.listen()
    for folder in ("/tmp", "/dev/shm"):
        open(folder + "/of-this-job", "w").close()
    names = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        names.append(open(f"/proc/{pid}/status").read().split()[1])
    tell(processes=len(names), shm=os.listdir("/dev/shm"), tmp=sorted(os.listdir("/tmp")))
    time.sleep(1.5)
    try:
        os.kill(-1, signal.SIGTERM)  # everybody that can be signalled, but the sender
    except ProcessLookupError:
        pass
    """
    quiet = "time.sleep(3)\ntell(alive=True)"
    first, second, third = jail.at_once(body, body, quiet)
    for result in (first, second):
        # The second could not have bound the same names, nor counted so few processes, in one place.
        assert told(result)["processes"] <= 3
        assert told(result)["shm"] == ["of-this-job"]
        assert told(result)["tmp"] == ["job", "of-this-job", "shm"]
    assert (third.ended, told(third)) == ("finished", {"alive": True})


def test_a_job_leaves_nothing_for_the_next_one(jail):
    jail("for folder in ('/tmp', '/dev/shm'): open(folder + '/left', 'w').close()")
    after = told(jail("tell(tmp=os.listdir('/tmp'), shm=os.listdir('/dev/shm'))"))
    assert sorted(after["tmp"]) == ["job", "shm"]
    assert after["shm"] == []


def test_the_ranks_of_a_job_do_reach_each_other(jail):
    result = jail("total = torch.ones(1); dist.all_reduce(total); tell(total=total.item())", world_size=3)
    assert [told(result, rank)["total"] for rank in range(3)] == [3.0, 3.0, 3.0]


def test_the_user_is_one_that_nobody_else_has(jail, seen):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's job keeps the user's own id, in a user namespace of its own")
    assert told(jail("tell(user=os.getuid())"))["user"] != seen["user"][0]
