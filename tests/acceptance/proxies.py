"""The proxies of deploy/ as real processes, with ports and certificates of a test's own, and an
upstream behind them that does what a test asks for."""

import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.engines.git_server import CERTIFICATE
from tests.places import PROJECT
from tests.ports import kept_port

DEPLOY = PROJECT / "deploy"
LIMIT_SECONDS = 30.0
PATHS = f"{os.environ.get('PATH', '')}:/usr/sbin"
NGINX, HAPROXY = shutil.which("nginx", path=PATHS), shutil.which("haproxy", path=PATHS)
CADDY = shutil.which("caddy", path=f"{Path(sys.executable).parent}:{PROJECT / '.venv/bin'}")
MISSING = "is not installed: scripts/test installs it"
AROUND = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u;
    scgi_temp_path {folder}/s;
    include {folder}/rookery.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that runs: its address with TLS, the authority behind its certificate, and the port
    where it answers to plain http."""

    name: str
    port: int
    plain: int
    authority: Path
    folder: Path

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS, context=self.trust)


def write_nginx(folder: Path, port: int, plain: int, upstreams: Sequence[str]) -> list[str]:
    """The example with the least changes that make it one of this machine's; the project's path
    may have blanks."""
    second = upstreams[-1]
    text = (DEPLOY / "nginx.conf").read_text()
    for here, there in (
        ("rookery-a:8000", upstreams[0]),
        ("rookery-b:8000", second),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/farm.example.org/fullchain.pem", f'"{CERTIFICATE}"'),
        ("/etc/ssl/farm.example.org/privkey.pem", f'"{CERTIFICATE}"'),
    ):
        assert here in text, here
        text = text.replace(here, there)
    (folder / "rookery.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user))
    assert NGINX is not None, f"nginx {MISSING}"
    return [NGINX, "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def write_caddy(folder: Path, plain: int) -> list[str]:
    """The example, but it trusts its authority nowhere else and has another port than 80, which a
    normal user may not open."""
    text = (DEPLOY / "Caddyfile").read_text()
    head = "\tadmin off\n"
    assert head in text
    text = text.replace(head, f"{head}\tskip_install_trust\n\thttp_port {plain}\n")
    (folder / "Caddyfile").write_text(text)
    assert CADDY is not None, f"caddy {MISSING}"
    return [CADDY, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def write_haproxy(folder: Path, port: int, plain: int, upstreams: Sequence[str]) -> list[str]:
    text = (DEPLOY / "haproxy.cfg").read_text()
    for here, there in (
        ("rookery-a:8000", upstreams[0]),
        ("rookery-b:8000", upstreams[-1]),
        ("bind :80\n", f"bind 127.0.0.1:{plain}\n"),
        ("bind :443", f"bind 127.0.0.1:{port}"),
        ("/etc/ssl/farm.example.org/farm.pem", f'"{CERTIFICATE}"'),
    ):
        assert here in text, here
        text = text.replace(here, there)
    (folder / "haproxy.cfg").write_text(text)
    assert HAPROXY is not None, f"haproxy {MISSING}"
    return [HAPROXY, "-db", "-f", f"{folder}/haproxy.cfg"]


@contextmanager
def proxied(name: str, folder: Path, upstreams: Sequence[str]) -> Iterator[Proxy]:
    """A proxy before one or two upstreams (host and port), until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with kept_port() as port, kept_port() as plain:
        own = folder / "caddy/pki/authorities/local/root.crt"
        proxy = Proxy(name, port, plain, own if name == "caddy" else CERTIFICATE, folder)
        with _running(proxy, upstreams):
            yield proxy


@contextmanager
def _running(proxy: Proxy, upstreams: Sequence[str]) -> Iterator[None]:
    folder = proxy.folder
    if proxy.name == "caddy":
        command = write_caddy(folder, proxy.plain)
    else:
        write = write_nginx if proxy.name == "nginx" else write_haproxy
        command = write(folder, proxy.port, proxy.plain, upstreams)
    settings = {
        "ROOKERY_SITE": proxy.address,
        "ROOKERY_UPSTREAMS": " ".join(upstreams),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    with (folder / "said.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
    try:
        wait_until_open(proxy, process)
        yield
    finally:
        process.terminate()
        process.wait(LIMIT_SECONDS)


def wait_until_open(proxy: Proxy, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", proxy.port), 1) as line:
                proxy.trust.wrap_socket(line, server_hostname="127.0.0.1").close()
                return
        except OSError:
            said = (proxy.folder / "said.log").read_text()
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)


@dataclass(slots=True)
class Upstream:
    """A server behind a proxy that notes what it is sent and answers as it is told."""

    ready: bool = True
    connections: int = 0
    paths: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    arrived: int = 0
    """Bytes of the present body so far."""
    go_on: threading.Event = field(default_factory=threading.Event)
    """Lets the stream of events say the next thing."""
    port: int = 0

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait_for(self, count: int) -> None:
        """Until so many bytes of a body are here."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.arrived < count:
            assert time.monotonic() < deadline, f"{self.arrived} of {count} bytes have arrived"
            time.sleep(0.01)


class UpstreamConnection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream: Upstream
    is_counted = False

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        if self.path == "/readyz":
            self.say(200 if self.upstream.ready else 503, b"{}")
            return
        self.note()
        if self.path == "/events":
            self.stream()
        else:
            self.say(200 if self.upstream.ready else 503, self.path.encode())

    def note(self) -> None:
        """Notes a request, and its connection if it is the first one there. Checks of whether the
        server is ready come on connections of their own."""
        self.upstream.paths.append(self.path)
        self.upstream.headers = {name.lower(): value for name, value in self.headers.items()}
        self.upstream.connections += not self.is_counted
        self.is_counted = True

    def do_POST(self) -> None:
        self.note()
        self.upstream.arrived = 0
        left = int(self.headers["content-length"])
        while left:
            piece = self.rfile.read1(min(left, 2**16))
            left -= len(piece)
            self.upstream.arrived += len(piece)
        self.say(503, b"try again in a moment", ("retry-after", "5"))

    def stream(self) -> None:
        """Two events, of which the second waits until somebody has heard the first."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"data: 1\n\n")
        self.upstream.go_on.wait(LIMIT_SECONDS)
        self.wfile.write(b"data: 2\n\n")
        self.close_connection = True

    def say(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("content-length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def upstream_at_work(*, ready: bool = True) -> Iterator[Upstream]:
    upstream = Upstream(ready=ready)
    kind = type("Connection", (UpstreamConnection,), {"upstream": upstream})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    upstream.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield upstream
    finally:
        upstream.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
