"""Hosts in network namespaces of their own, joined by a switch that can cut, slow down and lose
what passes between any two of them.

Each host is a process that holds a namespace with one interface. The other end of that interface
is a packet socket in the switch's thread: a frame goes to the host whose hardware address it names,
now, later or never. Needs root, also that of a user namespace (`in_namespace`).
"""

import array
import ctypes
import fcntl
import heapq
import os
import random
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, permutations

from tests.places import PROJECT

NETWORK = "10.77.0"
BROADCAST = b"\xff" * 6
OURS = socket.PACKET_OUTGOING
"""The kind of frames that the switch itself has sent."""
LARGEST_FRAME = 65_536
CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
# Without these the kernel leaves checksums and cutting to a card that there is not.
OFFLOADS = (0x17, 0x1F, 0x24)  # of checksums, of cutting TCP, of cutting anything
ROOT = PROJECT
HOLD = "import sys; from tests.faults import lan; lan.hold(*sys.argv[1:])"


def address_of(number: int) -> str:
    return f"{NETWORK}.{number}"


def _hardware_address(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, number))


def hold(number: str, channel: str) -> None:
    """Make the namespace of a host and its interface, hand over the other end, and stay."""
    hardware = _hardware_address(int(number)).hex(":")
    for line in (
        "link set lo up",
        "link add lan type veth peer name switch",
        f"link set lan address {hardware}",
        f"address add {address_of(int(number))}/24 dev lan",
        "link set lan up",
        "link set switch up",
    ):
        subprocess.run(["ip", *line.split()], check=True)
    for name in ("lan", "switch"):
        for what in OFFLOADS:
            _switch_off(name, what)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind(("switch", 0))
    owner = socket.socket(fileno=int(channel))
    socket.send_fds(owner, [b"up"], [raw.fileno()])
    owner.recv(1)  # until the owner closes its end, or dies


def _switch_off(name: str, what: int) -> None:
    value = array.array("B", struct.pack("II", what, 0))
    request = struct.pack("16sP16x", name.encode(), value.buffer_info()[0])
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


@dataclass(frozen=True, slots=True)
class Line:
    """What passes from one host to another."""

    is_cut: bool = False
    seconds: float = 0.0
    """How long each frame takes."""
    loss: float = 0.0
    """The share of frames that are lost."""


GOOD = Line()
CUT = Line(is_cut=True)


@dataclass(slots=True)
class Host:
    """A namespace with its own address."""

    name: str
    number: int
    process: "subprocess.Popen[bytes]"
    channel: socket.socket
    raw: socket.socket

    @property
    def address(self) -> str:
        return address_of(self.number)

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words before a command that is to run on this host."""
        return ("nsenter", f"--net=/proc/{self.process.pid}/ns/net", "--")

    def enter(self) -> None:
        """Move this thread to the host, with all threads and processes that it starts from now
        on."""
        descriptor = os.open(f"/proc/{self.process.pid}/ns/net", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class Lan:
    """The hosts by name, and the lines between them."""

    hosts: dict[str, Host]
    chance: random.Random
    frames: int = 0
    """How many frames have arrived."""
    _lines: dict[tuple[int, int], Line] = field(default_factory=dict)
    _late: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _ended: bool = False

    def change(self, one: str, other: str, line: Line) -> None:
        """Change the lines between two hosts, in both directions."""
        pair = self.hosts[one].number, self.hosts[other].number
        self._lines |= {pair: line, pair[::-1]: line}

    def mend(self) -> None:
        """Make all lines good."""
        self._lines = {}

    def run(self) -> None:
        """Carry frames until `end`."""
        with selectors.DefaultSelector() as ready:
            for host in self.hosts.values():
                ready.register(host.raw, selectors.EVENT_READ, host.number)
            while not self._ended:
                for key, _ in ready.select(self._next_seconds()):
                    self._take(key.fileobj, key.data)  # type: ignore[arg-type]  # our socket
                self._deliver_late()

    def end(self) -> None:
        self._ended = True

    def _next_seconds(self) -> float:
        due = self._late[0][0] - time.monotonic() if self._late else 0.1
        return max(0.0, min(due, 0.1))

    def _take(self, raw: socket.socket, source: int) -> None:
        frame, (*_, kind, _hatype, _from) = raw.recvfrom(LARGEST_FRAME)
        if kind == OURS:
            return
        for host in self.hosts.values():
            if host.number != source and frame[:6] in (BROADCAST, _hardware_address(host.number)):
                self._pass_on(frame, source, host.number)

    def _pass_on(self, frame: bytes, source: int, target: int) -> None:
        line = self._lines.get((source, target), GOOD)
        if line.is_cut or (line.loss and self.chance.random() < line.loss):
            return
        if line.seconds:
            due = time.monotonic() + line.seconds
            heapq.heappush(self._late, (due, next(self._numbers), target, frame))
        else:
            self._deliver(frame, target)

    def _deliver_late(self) -> None:
        while self._late and self._late[0][0] <= time.monotonic():
            _, _, target, frame = heapq.heappop(self._late)
            self._deliver(frame, target)

    def _deliver(self, frame: bytes, target: int) -> None:
        host = next(each for each in self.hosts.values() if each.number == target)
        self.frames += 1
        try:
            host.raw.send(frame)
        except OSError:
            return  # a full queue, or a host that is ending: the frame is lost


@contextmanager
def lan(names: Sequence[str], *, seed: int = 1) -> Iterator[Lan]:
    """Hosts of these names, each with a line to every other one."""
    hosts = {name: _make_host(name, number) for number, name in enumerate(names, 1)}
    net = Lan(hosts, random.Random(seed))
    carrying = threading.Thread(target=net.run, name="switch", daemon=True)
    carrying.start()
    try:
        yield net
    finally:
        net.end()
        carrying.join()
        for host in hosts.values():
            host.channel.close()
            host.process.wait()
            host.raw.close()


def _make_host(name: str, number: int) -> Host:
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-c", HOLD, str(number), str(theirs.fileno())]
    process = subprocess.Popen(["unshare", "--net", *words], pass_fds=[theirs.fileno()], cwd=ROOT)
    theirs.close()
    said, descriptors, _, _ = socket.recv_fds(ours, 2, 1)
    assert said == b"up", f"the host {name} could not be made"
    return Host(name, number, process, ours, socket.socket(fileno=descriptors[0]))


def pairs_of(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Every two of the names, once."""
    return tuple((one, other) for one, other in permutations(names, 2) if one < other)


def in_namespace(command: Sequence[str]) -> list[str]:
    """A command with the rights to make namespaces, which root has anyway."""
    rights = () if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user")
    return [*rights, *command]
