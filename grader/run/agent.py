"""The process that has torch imported: for each job it is told of, it forks a warden.

Started once for a submission, inside the sandbox. It never runs student code itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import time
from typing import Any

from grader.run import wire

_MESSAGE_LIMIT = 1 << 22
_DESCRIPTOR_BYTE = b"j"


def main(control_descriptor: int, jailed: bool, lab: str) -> None:
    """Serve the jobs of ``lab`` until the grader closes the control socket (one end of a socket pair)."""
    started = time.monotonic()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    control = socket.socket(fileno=control_descriptor)
    _import_everything(lab)
    wire.send(control, {"ready": True, "import_seconds": time.monotonic() - started})
    while True:
        try:
            connection = receive_connection(control)
        except (wire.WireError, OSError):
            break
        with connection, contextlib.suppress(OSError):  # a job that is not told of is not run
            spec, _ = wire.receive(connection, _MESSAGE_LIMIT)
            _fork_warden(spec, connection, control, jailed)
        _reap(os.WNOHANG)
    _reap(0)  # the wardens end their jobs when the grader goes away: be there until they have


def send_connection(control: socket.socket, connection: socket.socket) -> None:
    """The grader's side: hand over one end of the socket pair on which a job will be told and answered."""
    socket.send_fds(control, [_DESCRIPTOR_BYTE], [connection.fileno()])


def receive_connection(control: socket.socket) -> socket.socket:
    """Raises `wire.WireError` when the grader has closed the control socket."""
    data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    if not data or not descriptors:
        raise wire.WireError("the control socket was closed")
    return socket.socket(fileno=descriptors[0])


def _import_everything(lab: str) -> None:
    """Import what ranks need while there is one process to do it. No operation runs here: a thread
    of torch's would not survive the fork."""
    import encodings.idna
    import multiprocessing.popen_fork
    import multiprocessing.queues

    import numpy.ctypeslib
    import safetensors.torch
    import torch
    import torch.distributed.elastic.rendezvous.c10d_rendezvous_backend
    import torch.distributed.launcher.api
    import torch.utils.flop_counter

    from grader import lazy_compiler
    from grader.exercises import drive
    from grader.run import rank, warden

    lazy_compiler.postpone()
    torch.set_num_threads(1)
    importlib.import_module(f"grader.exercises.{lab}")
    _ = (encodings.idna, multiprocessing.queues, numpy.ctypeslib, safetensors.torch, drive, rank, warden)
    gc.collect()
    gc.freeze()  # what is imported stays: keep the collector from touching, and so copying, its pages


def _fork_warden(
    spec: dict[str, Any], connection: socket.socket, control: socket.socket, jailed: bool
) -> None:
    from grader.run import warden

    if os.fork():
        return
    status = 1
    try:
        control.close()
        warden.run(spec, connection, jailed)
        status = 0
    finally:
        os._exit(status)


def _reap(options: int) -> None:
    try:
        while os.waitpid(-1, options)[0]:
            pass
    except ChildProcessError:
        return
