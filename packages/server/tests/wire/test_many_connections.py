"""Thousands of simultaneous connections: none is refused."""

import resource
import select
import socket

from tests.wire.processes import Server, read_to_end

CONNECTIONS = 3000
ASK = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def begin_connecting(server: Server) -> socket.socket:
    wire = socket.socket()
    wire.setblocking(False)
    wire.connect_ex(server.place)
    return wire


def finish_connecting(wire: socket.socket) -> None:
    ready = select.poll()
    ready.register(wire, select.POLLOUT)
    assert ready.poll(30_000)
    assert wire.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    wire.settimeout(30)


def exchange_on_all(wires: list[socket.socket]) -> list[bytes]:
    """Nobody asks before everybody is connected."""
    for wire in wires:
        finish_connecting(wire)
    for wire in wires:
        wire.sendall(ASK)
    return [read_to_end(wire) for wire in wires]


def test_three_thousand_connect_at_once_and_all_are_answered(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wires = [begin_connecting(server) for _ in range(CONNECTIONS)]
    try:
        answers = exchange_on_all(wires)
    finally:
        for wire in wires:
            wire.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sum(answer.startswith(b"HTTP/1.1 200 OK") for answer in answers) == CONNECTIONS
