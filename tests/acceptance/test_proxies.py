"""The examples of deploy/ with the real programs: what a proxy before Rookery has to let through
untouched, and a worker that plays through each."""

import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.acceptance.proxies import LIMIT_SECONDS, Proxy, Upstream, proxied, upstream_at_work
from tests.commands import run_command
from tests.ports import kept_port
from tests.wire.processes import read_to_end
from tests.workers.farm import Farm, farm
from tests.workers.processes import until, worker_process

PROXIES = ("nginx", "caddy", "haproxy")
LARGE = 100 * 10**6
PIECE = b"x" * 10**6


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with upstream_at_work() as there:
        yield there


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, upstream: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy") / request.param
    with proxied(request.param, folder, [upstream.place]) as there:
        yield there


def ask(proxy: Proxy, path: str, **headers: str) -> tuple[int, bytes]:
    line = proxy.connect()
    line.request(
        "GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    answer = line.getresponse()
    status, body = answer.status, answer.read()
    line.close()
    return status, body


def test_the_server_learns_who_called_and_how(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "/page", x_forwarded_for="203.0.113.9", x_forwarded_proto="http")
    assert upstream.headers["x-forwarded-for"] == "127.0.0.1"
    assert upstream.headers["x-forwarded-proto"] == "https"
    assert upstream.headers["host"] == f"127.0.0.1:{proxy.port}"


def test_what_callers_claim_about_themselves_is_dropped(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "/page", x_country_code="XX", forwarded="for=203.0.113.9")
    assert upstream.headers.keys() & {"x-country-code", "forwarded"} == set()


def test_a_wish_for_another_protocol_ends_at_the_proxy(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "/page", connection="Upgrade", upgrade="foo")
    assert "upgrade" not in upstream.headers


@pytest.mark.parametrize(("method", "status"), [("GET", 301), ("POST", 403)])
def test_plain_http_leads_people_to_https_and_no_machine_anywhere(
    proxy: Proxy, upstream: Upstream, method: str, status: int
) -> None:
    before = len(upstream.paths)
    line = HTTPConnection("127.0.0.1", proxy.plain, timeout=LIMIT_SECONDS)
    line.request(method, "/tests?page=2", headers={"host": "farm.example.org"})
    with closing(line):
        answer = line.getresponse()
    leads = "https://farm.example.org/tests?page=2" if status == 301 else None
    assert (answer.status, answer.getheader("location")) == (status, leads)
    assert upstream.paths[before:] == []


def test_an_event_comes_before_the_next_is_made(proxy: Proxy, upstream: Upstream) -> None:
    upstream.go_on.clear()
    line = proxy.connect()
    line.request("GET", "/events")
    answer = line.getresponse()
    assert answer.read1(100) == b"data: 1\n\n"
    upstream.go_on.set()
    assert answer.read1(100) == b"data: 2\n\n"
    line.close()


def test_a_large_body_is_neither_refused_nor_collected(proxy: Proxy, upstream: Upstream) -> None:
    line = proxy.connect()
    line.putrequest("POST", "/api/upload_pgn")
    line.putheader("content-length", str(LARGE))
    line.putheader("content-encoding", "gzip")
    line.endheaders(PIECE)
    upstream.wait_for(len(PIECE) // 2)  # the rest has not even been sent
    for _ in range(LARGE // len(PIECE) - 1):
        line.send(PIECE)
    answer = line.getresponse()
    assert (upstream.arrived, upstream.headers["content-encoding"]) == (LARGE, "gzip")
    assert (answer.status, answer.getheader("retry-after")) == (503, "5")
    assert answer.read() == b"try again in a moment"
    line.close()


def test_a_refused_post_is_not_sent_again(proxy: Proxy, upstream: Upstream) -> None:
    before = len(upstream.paths)
    line = proxy.connect()
    line.request("POST", "/api/update_task", body=b"{}")
    answer = line.getresponse()
    assert (answer.status, answer.read()) == (503, b"try again in a moment")
    assert upstream.paths[before:] == ["/api/update_task"]
    line.close()


def test_connections_are_kept_on_both_sides(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "/first")
    before, line = upstream.connections, proxy.connect()
    sockets = set()
    for path in ("/a", "/b", "/c"):
        line.request("GET", path)
        sockets.add(id(line.sock))
        assert line.getresponse().read() == path.encode()
    line.close()
    assert len(sockets) == 1
    assert upstream.connections - before <= 1


def test_the_figures_are_not_for_the_world(proxy: Proxy, upstream: Upstream) -> None:
    before = len(upstream.paths)
    assert ask(proxy, "/metrics")[0] == 404
    assert upstream.paths[before:] == []


@pytest.mark.parametrize("name", PROXIES)
def test_the_other_instance_is_asked_when_one_is_gone_or_not_ready(
    name: str, upstream: Upstream, tmp_path: Path
) -> None:
    with kept_port() as nobody, upstream_at_work(ready=False) as starting:
        for first in (f"127.0.0.1:{nobody}", starting.place):
            folder = tmp_path / str(first.rpartition(":")[2])
            with proxied(name, folder, [first, upstream.place]) as proxy:
                assert ask(proxy, "/page") == (200, b"/page")


# The real thing behind the real thing.


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    trusted = {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1", "ROOKERY_SIGN_UP": "0"}
    with farm(tmp_path_factory.mktemp("real"), trusted) as there:
        yield there


@pytest.fixture(scope="module", params=PROXIES)
def before_real(
    request: pytest.FixtureRequest, real: Farm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    place = real.server.address.removeprefix("http://")
    folder = tmp_path_factory.mktemp("before") / request.param
    with proxied(request.param, folder, [place]) as there:
        yield there


def send_raw(proxy: Proxy, *pieces: bytes) -> bytes:
    """Sends bytes as they are and returns all that comes back."""
    line = socket.create_connection(("127.0.0.1", proxy.port), LIMIT_SECONDS)
    with proxy.trust.wrap_socket(line, server_hostname="127.0.0.1") as wire:
        for piece in pieces:
            wire.sendall(piece)
        return read_to_end(wire)


def test_nobody_chooses_an_address_by_a_trailer(before_real: Proxy) -> None:
    head = b"GET /callerz HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n"
    trailer = b"x-forwarded-for: 203.0.113.9\r\n\r\n"
    said = send_raw(before_real, head + b"connection: close\r\n\r\n0\r\n" + trailer)
    assert b'"address":"127.0.0.1"' in said


def test_a_body_after_an_upgrade_answers_nobody_else(before_real: Proxy) -> None:
    inner = b"GET /api/inner HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    head = b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: foo\r\n"
    length = b"content-length: %d\r\n\r\n" % len(inner)
    other = before_real.connect()
    with closing(other):
        for _ in range(20):
            last = b"GET /api/last HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
            said = send_raw(before_real, head + length, inner, last)
            other.request("GET", "/api/other")
            assert b'"/api/other: ' in other.getresponse().read()
            assert b"/api/inner: " not in said


@pytest.mark.parametrize("name", PROXIES)
def test_a_worker_plays_through_it_and_the_doctor_finds_nothing(
    name: str, real: Farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = real.server.address.removeprefix("http://")
    with proxied(name, tmp_path / "proxy", [place]) as proxy:
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
        found = run_command("doctor", "--public", proxy.address, "--strict", data=tmp_path)
        assert found.returncode == 0, found.stdout
        assert "skip  backup, disk" in found.stdout
        run = real.submit(num_games=4)
        with worker_process(proxy.address, tmp_path / "worker") as worker:
            until(lambda: real.games(run) == 4, worker)
