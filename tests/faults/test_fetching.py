"""Sources that lead a worker to what only its own machine can reach."""

import asyncio
import io
import os
import socket
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.worker.engines.gateway import Gateway, open_gateway
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import Sandbox
from tests.engines import repositories
from tests.engines.downloads import MemoryDownloads
from tests.engines.git_server import serving
from tests.web_servers import web_server

SANDBOX = Sandbox(True)
PLAIN = Sandbox(False, permitted=True)
WAYS = pytest.mark.parametrize(
    "sandbox",
    [SANDBOX, Sandbox(True, bubblewrap="/usr/bin/bwrap"), PLAIN],
    ids=["ours", "bubblewrap", "plain"],
)
MAKE = EngineRecord(name="Tiny")
CARGO = EngineRecord(name="Tiny", recipe=RecipeRecord(kind="cargo"))
COMMIT = "0" * 40
SECRET = "eeW3zieD"
SOURCE = "https://rookery.example/src/tiny"


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A service of this machine for itself alone, and what anybody said to it."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def listen() -> None:
            while True:
                try:
                    caller, _ = door.accept()
                except OSError:
                    return
                with caller:
                    caller.settimeout(2)
                    heard.append(caller.recv(1000))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield door.getsockname()[1], heard
        finally:
            door.shutdown(socket.SHUT_RDWR)
    thread.join()


def archive(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"tiny/{name}")
            entry.external_attr = 0o755 << 16
            made.writestr(entry, text)
    return packed.getvalue()


def refusal(
    folder: Path,
    order: EngineOrder,
    sandbox: Sandbox = SANDBOX,
    files: Mapping[str, str] | None = None,
    *,
    private: bool = False,
) -> BuildFailed:
    """Why the engine is not made; its source may be an archive of these files."""
    downloads = MemoryDownloads({f"{SOURCE}@{COMMIT}": archive(files)} if files else {})
    workshop = Workshop(folder / "cache", downloads, sandbox=sandbox, private_sources=private)
    with pytest.raises(BuildFailed) as failed:
        asyncio.run(workshop.make(order))
    return failed.value


@WAYS
def test_a_source_in_this_machines_own_network_is_not_asked(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    with listening() as (port, heard):
        order = EngineOrder(MAKE, COMMIT, f"http://127.0.0.1:{port}/tiny")
        failed = refusal(tmp_path, order, sandbox)
    assert "127.0.0.1 lies in this machine's own network" in failed.sentence
    assert "--allow-private-sources" in failed.sentence
    assert heard == []


def test_a_source_in_this_machines_own_network_is_asked_where_its_owner_allows_it(
    tmp_path: Path,
) -> None:
    with listening() as (port, heard):
        refusal(tmp_path, EngineOrder(MAKE, COMMIT, f"http://127.0.0.1:{port}/tiny"), private=True)
    assert heard


def test_a_name_that_leads_into_this_machines_own_network_is_not_asked(tmp_path: Path) -> None:
    with listening() as (port, heard):
        failed = refusal(tmp_path, EngineOrder(MAKE, COMMIT, f"https://localhost:{port}/tiny"))
    assert "localhost lies in this machine's own network" in failed.sentence
    assert heard == []


@pytest.mark.parametrize(
    "address", ["{path}", "file://{path}", "ext::sh -c touch% {path}/x", "ssh://localhost{path}"]
)
def test_files_and_programs_of_this_machine_are_no_sources(tmp_path: Path, address: str) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    order = EngineOrder(MAKE, source.commit, address.format(path=source.url))
    failed = refusal(tmp_path, order)
    assert "is not an https or http address" in failed.sentence
    assert not (tmp_path / "tiny" / "x").exists()


@WAYS
def test_a_submodule_can_not_be_a_folder_of_this_machine(tmp_path: Path, sandbox: Sandbox) -> None:
    secret = repositories.repository(tmp_path / "secret", {"secret": SECRET})
    outer = tmp_path / "served" / "outer"
    repositories.repository(outer, {"Makefile": "all:\n\tcat inner/secret; false\n"})
    allowed = ("-c", "protocol.file.allow=always")
    repositories.git(outer, *allowed, "submodule", "add", "--quiet", secret.url, "inner")
    commit = repositories.commit(outer)
    with serving(tmp_path / "served", tls=False) as server:
        order = EngineOrder(MAKE, commit, f"{server}/outer/.git")
        failed = refusal(tmp_path, order, sandbox, private=True)
    assert "git submodule ended with" in failed.sentence
    assert SECRET not in failed.log


@WAYS
def test_a_redirect_is_not_followed(tmp_path: Path, sandbox: Sandbox) -> None:
    with listening() as (port, heard):

        class Elsewhere(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.1:{port}{self.path}")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing to be said."""

        with web_server(Elsewhere) as server:
            refusal(tmp_path, EngineOrder(MAKE, COMMIT, f"{server}/tiny"), sandbox, private=True)
    assert heard == []


async def ask_gateway(target: str, repository: str) -> tuple[bytes, list[bytes]]:
    """What the gateway answers, and what it asked the owner's proxy, which connects everywhere."""
    asked: list[bytes] = []

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).partition(b" HTTP")[0])
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        proxies = {"https_proxy": f"http://127.0.0.1:{port}"}
        gateway = Gateway(Threads(), repository=repository, proxies=proxies)
        async with open_gateway(gateway, confined=False):
            own = urlsplit(gateway.address).port
            reader, writer = await asyncio.open_connection("127.0.0.1", own)
            writer.write(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
            writer.write_eof()
            answer = await reader.read()
            writer.close()
    return answer, asked


@pytest.mark.parametrize("target", ["8.8.8.8:25", "8.8.8.8:22", "8.8.4.4:8443", "8.8.8.8:8444"])
def test_only_ports_that_sources_come_from_are_connected_to(target: str) -> None:
    answer, asked = asyncio.run(ask_gateway(target, "https://8.8.8.8:8443/tiny"))
    assert f"{target} is no port that sources come from".encode() in answer
    assert asked == []


@pytest.mark.parametrize("target", ["8.8.8.8:80", "8.8.4.4:443", "8.8.8.8:9418", "8.8.8.8:8443"])
def test_the_repositorys_own_port_is_one_of_them(target: str) -> None:
    answer, asked = asyncio.run(ask_gateway(target, "https://8.8.8.8:8443/tiny"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert asked == [f"CONNECT {target}".encode()]


def test_a_repository_with_a_port_that_is_none_allows_no_port() -> None:
    answer, asked = asyncio.run(ask_gateway("8.8.8.8:25", "https://8.8.8.8:99999/tiny"))
    assert b"403" in answer
    assert asked == []


SPY = """\
#!/bin/sh
cat {secret}
echo "$HOME $SSH_AUTH_SOCK"
exec /usr/bin/python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", {port})))'
"""


def test_git_sees_neither_files_nor_network_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spy in git's place shows what git could be made to do."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    with listening() as (port, heard):
        spy = tmp_path / "bin" / "git"
        spy.write_text(SPY.format(secret=tmp_path / "secret", port=port))
        spy.chmod(0o755)
        failed = refusal(tmp_path, EngineOrder(MAKE, COMMIT, "https://example.org/tiny"))
    assert f"cat: {tmp_path / 'secret'}: No such file" in failed.log
    assert "/agent" not in failed.log
    assert SECRET not in failed.log
    assert heard == []


CRATE = {
    "Cargo.toml": repositories.CARGO_TOML,
    "Cargo.lock": repositories.CARGO_LOCK,
    "src/main.rs": repositories.RUST,
}
EVIL = """\
#!/bin/sh
exec /usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", {port}))'
"""
REGISTRY = """\
[source.crates-io]
replace-with = "mine"
[source.mine]
registry = "sparse+http://127.0.0.1:{port}/index/"
"""
WISH = '[dependencies]\nwanted = "1"\n'
BY_SETTINGS: dict[str, dict[str, str]] = {
    "compiler": {".cargo/config.toml": '[build]\nrustc = "./evil.sh"\n', "evil.sh": EVIL},
    "registry": {".cargo/config.toml": REGISTRY, "Cargo.toml": CRATE["Cargo.toml"] + WISH},
    "toolchain": {
        "rust-toolchain.toml": '[toolchain]\npath = "/proc/self/cwd/own"\n',
        "own/bin/cargo": EVIL,
        "own/bin/rustc": EVIL,
    },
}
BY_PACKAGE = {
    "git": '[dependencies]\nwanted = {{ git = "http://127.0.0.1:{port}/wanted" }}\n',
    "patch": '[patch.crates-io]\nwanted = {{ git = "http://127.0.0.1:{port}/w" }}\n' + WISH,
}


@pytest.mark.parametrize("files", BY_SETTINGS.values(), ids=BY_SETTINGS)
def test_cargo_obeys_no_settings_of_the_source_while_it_has_a_network(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    with listening() as (port, heard):
        filled = {name: text.replace("{port}", str(port)) for name, text in files.items()}
        kept = {name: text for name, text in CRATE.items() if name != "Cargo.lock"}
        refusal(tmp_path, EngineOrder(CARGO, COMMIT, SOURCE), files=kept | filled)
    assert heard == []


@pytest.mark.parametrize("wish", BY_PACKAGE.values(), ids=BY_PACKAGE)
def test_a_package_in_this_machines_own_network_is_not_asked(tmp_path: Path, wish: str) -> None:
    with listening() as (port, heard):
        toml = CRATE["Cargo.toml"] + wish.format(port=port)
        files = {"Cargo.toml": toml, "src/main.rs": CRATE["src/main.rs"]}
        refusal(tmp_path, EngineOrder(CARGO, COMMIT, SOURCE), files=files)
    assert heard == []
