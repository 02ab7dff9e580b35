"""What is wrong with where the ranks meet: address, port and network interface."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.clusters.findings import Finding
from grader.clusters.job_script import JobScript, option
from grader.clusters.shell import Command, Word, is_assignment

EPHEMERAL = range(32768, 61000)
"""Ports that Linux gives out itself (net.ipv4.ip_local_port_range)."""
_TODO = "Use MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))."
_FORMULA = re.compile(r"^\$\(\(\s*(\d+)\s*\+\s*\$?\{?(\w+)\}?\s*%\s*(\d+)\s*\)\)$", re.ASCII)


def ports(script: JobScript) -> Iterator[Finding]:
    """A port must be the job's own, and nobody else's."""
    for line, value in _ports(script):
        if value.isdecimal():
            yield Finding(
                "fixed-port",
                line,
                f"The port is always {value}.",
                "Two jobs on one node, of whoever, cannot both have it: the second ends with EADDRINUSE.",
                _TODO,
            )
        elif re.search(r"\$\{SLURM_(ARRAY_)?JOB_?ID:", value):
            yield Finding(
                "port-from-digits",
                line,
                f"The port {value} is made of the job number's last digits.",
                "A short number leaves none of them (port 1 or 10), and in $((…)) 0812 is no decimal number.",
                _TODO,
            )
        elif found := _FORMULA.match(value):
            low, high = int(found[1]), int(found[1]) + int(found[3]) - 1
            if low < 1024 or high > 65535 or (low < EPHEMERAL.stop and high >= EPHEMERAL.start):
                yield Finding(
                    "port-range",
                    line,
                    f"The port may be anything from {low} to {high}.",
                    "Linux itself gives out 32768 to 60999 to whatever connects, ports below 1024 are "
                    "root's, and "
                    "there is none above 65535: now and then it is taken.",
                    _TODO,
                )


def _ports(script: JobScript) -> Iterator[tuple[int, str]]:
    """Each place that sets a port, with its text."""
    for word in _words(script):
        name, equals, value = word.text.partition("=")
        if equals and is_assignment(word.text) and name in ("MASTER_PORT", "PORT", "master_port"):
            default = re.fullmatch(r"\$\{\w+:?-(.*)\}", value)
            yield word.line, default[1] if default else value
    for launch in script.launches:
        if "standalone" in launch.options:
            continue
        yield launch.line, option(launch.options, "master-port")
        endpoint = option(launch.options, "rdzv-endpoint")
        yield launch.line, endpoint.rpartition(":")[2] if re.search(r":\d+$", endpoint) else ""


def address(script: JobScript) -> Iterator[Finding]:
    """The first host of the allocation by its name, and nothing else."""
    for command in script.all_commands:
        text = " ".join(word.text for word in command.words)
        if re.search(r"\bhostname\s+(.*\s)?(--ip-address|--all-ip-addresses|-i|-I)(\s|\)|$)", text):
            yield Finding(
                "address-by-hostname",
                command.line,
                "The address is asked of hostname.",
                "That may be 127.0.0.1 or 127.0.1.1, or the network of another purpose, and no other node "
                "comes "
                "through.",
                'Use the name: scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1.',
            )
        for word in command.words:
            if "SLURM_LAUNCH_NODE_IPADDR" in word.expanded:
                yield Finding(
                    "launch-node",
                    word.line,
                    "$SLURM_LAUNCH_NODE_IPADDR is used for the address.",
                    "It is where srun was called, which need not be a node of the job.",
                    'Use the first name of scontrol show hostnames "$SLURM_JOB_NODELIST".',
                )


def own_world(script: JobScript) -> Iterator[Finding]:
    """An address that means another machine on each node."""
    if script.nodes < 2:
        return
    for command in script.all_commands:
        for word in command.words:
            value = word.text.partition("=")[2]
            sets = re.match(r"(MASTER_ADDR|HEAD_NODE\w*|head_node\w*|--master.addr)=", word.text)
            if sets and re.search(r"(^|\|\|\s*echo\s+|:-)(localhost|127\.0\.0\.1)\b", value):
                yield Finding(
                    "localhost",
                    word.line,
                    f"{word.text.partition('=')[0]} is, or falls back to, localhost.",
                    "On every node that is the node itself: each waits alone, or trains a world of its own "
                    "and says "
                    "nothing.",
                    'Use the first name of scontrol show hostnames "$SLURM_JOB_NODELIST", and no other.',
                )


def interfaces(script: JobScript) -> Iterator[Finding]:
    """Unlike NCCL, gloo takes one name and takes it whole."""
    for word in _words(script):
        name, _, value = word.text.partition("=")
        if name == "GLOO_SOCKET_IFNAME" and "," in value:
            yield Finding(
                "gloo-interfaces",
                word.line,
                f"GLOO_SOCKET_IFNAME is {value}.",
                'gloo takes one interface; this is none: "Unable to find address for" it.',
                "Give one name.",
            )


def _words(script: JobScript) -> Iterator[Word]:
    commands: tuple[Command, ...] = script.all_commands
    return (word for command in commands for word in command.words)


RULES = (ports, address, own_world, interfaces)
