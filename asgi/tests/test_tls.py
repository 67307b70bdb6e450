"""TLS over real sockets, and a certificate that changes."""

import json
import signal
import ssl
from pathlib import Path

import pytest
import trustme

from tests.apps import client_context
from tests.machine import GET, body_of, status_of
from tests.serving import (
    APP,
    LAST,
    Served,
    eventually,
    exchange,
    get,
    read_all,
    read_response,
    serve,
)


def write_certificate(folder: Path, name: str) -> tuple[str, str]:
    issued = trustme.CA().issue_cert(name)
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    return str(cert), str(key)


def names_of(served: Served) -> str:
    with served.connect() as raw, client_context().wrap_socket(raw) as tls:
        der = tls.getpeercert(binary_form=True)
        assert der is not None
        return der.decode("latin-1")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_serves_both_versions(tmp_path: Path, version: ssl.TLSVersion) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    with serve(APP, "--ssl-certfile", cert, "--ssl-keyfile", key) as served:
        context = client_context()
        context.minimum_version = context.maximum_version = version
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            for size in (10, 5_000_000):
                head = b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size
                sock.sendall(head + b"x" * size)
                assert body_of(read_response(sock)) == b"%d" % size
            sock.sendall(get("/stream?5", "Connection: close"))
            assert len(read_all(sock)) > 5 * 1024 * 1024
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            assert (
                json.loads(body_of(exchange(sock, get("/scope", "Connection: close"))))["scheme"]
                == "https"
            )
        with served.connect() as plain:
            plain.sendall(GET)
            assert status_of(read_all(plain)) == 0
        assert b"hello" in ask_tls(served)


def ask_tls(served: Served) -> bytes:
    with served.connect() as raw, client_context().wrap_socket(raw) as sock:
        return exchange(sock, LAST)


def test_sighup_reloads_the_certificate(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    with serve(APP, "--ssl-certfile", cert, "--ssl-keyfile", key) as served:
        assert "one.example" in names_of(served)
        write_certificate(tmp_path, "two.example")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "two.example" in names_of(served))
        Path(cert).write_text("rubbish")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "not reloaded" in served.log)
        assert "two.example" in names_of(served)
