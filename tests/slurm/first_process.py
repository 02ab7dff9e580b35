"""The first process of a virtual machine: run by its file's path, inside of new namespaces, as process 1.

It starts the daemons, and then reads its standard input until that ends: when whoever holds the other side is
done or gone, however that came about (SIGKILL as well). With process 1 the kernel ends every process of the
namespace: daemons, jobs, and clients that still wait. It imports little of the standard library, since a test
waits for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

# linux/sockios.h and linux/if.h
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 0x1


def main() -> None:
    plan = json.loads(sys.argv[1])
    socket.sethostname(plan["hostname"])
    bring_network_up()
    for source, target in plan["mounts"]:
        subprocess.run(["mount", "--bind", source, target], check=True)
    daemons: dict[str, subprocess.Popen[bytes]] = {}
    for name, command, awaited in plan["daemons"]:
        with open(f"{plan['logs']}/{name}.out", "wb") as log:
            daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(awaited, daemons[name])
    print("started", flush=True)
    for line in sys.stdin:
        daemons[line.strip()].kill()
        daemons[line.strip()].wait()
        print(line, end="", flush=True)
    os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # until none is left that could still write
        while True:
            os.wait()
    for _, target in plan["mounts"]:
        subprocess.run(["umount", target], check=True)
    shutil.rmtree(plan["folder"], ignore_errors=True)


def bring_network_up() -> None:
    """Loopback, with a second address from 10.0.0.0/8, which makes all of those the machine's own.

    The C library takes a machine without any for one without IPv4, and Slurm then cannot listen.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("10.0.0.100"))
        fcntl.ioctl(any_socket, SIOCSIFADDR, address)


def wait_for(path: str | None, daemon: subprocess.Popen[bytes]) -> None:
    """Until the daemon has made its socket; the next one needs it at once."""
    while path is not None and not os.path.exists(path):
        if daemon.poll() is not None:
            sys.exit(f"{daemon.args!r} ended with status {daemon.returncode}.")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
