"""TLS over real sockets, and a certificate that changes."""

import json
import signal
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from rookery_asgi import Options
from rookery_asgi.errors import BadOption
from rookery_asgi.tls import make_tls, name_of
from tests.apps import client_context
from tests.machine import GET, body_of, status_of
from tests.serving import (
    APP,
    LAST,
    Served,
    ask,
    eventually,
    exchange,
    get,
    read_all,
    read_response,
    serve,
)

CERT = "a certificate"


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


class Authority:
    """A CA with a certificate for the server, for clients, and a list of those it has revoked."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA(organization_name="Tests")
        self._folder = folder
        self.path = self.write("ca.pem", self._ca.cert_pem.bytes())

    def write(self, name: str, *texts: bytes) -> str:
        path = self._folder / name
        path.write_bytes(b"".join(texts))
        return str(path)

    def issue(self, name: str) -> tuple[str, x509.Certificate]:
        """A file with certificate and key, and the certificate itself."""
        issued = self._ca.issue_cert(f"{name}@example.org", common_name=name)
        chain = [blob.bytes() for blob in issued.cert_chain_pems]
        path = self.write(f"{name}.pem", *chain, issued.private_key_pem.bytes())
        return path, x509.load_pem_x509_certificate(chain[0])

    def revoke(self, *certificates: x509.Certificate) -> str:
        """The list of those that were revoked."""
        pem = self._ca.private_key_pem.bytes()
        key = cast("CertificateIssuerPrivateKeyTypes", load_pem_private_key(pem, None))
        now = datetime.now(UTC)
        ca = x509.load_pem_x509_certificate(self._ca.cert_pem.bytes())
        made = x509.CertificateRevocationListBuilder().issuer_name(ca.subject)
        made = made.last_update(now - timedelta(days=1)).next_update(now + timedelta(days=1))
        for certificate in certificates:
            one = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
            made = made.add_revoked_certificate(one.revocation_date(now).build())
        crl = made.sign(key, SHA256())
        return self.write("crl.pem", crl.public_bytes(Encoding.PEM))


def asked_as(served: Served, certificate: str | None) -> Any:
    """What the server says of a client with that certificate; None when it is turned away."""
    context = client_context()
    if certificate is not None:
        context.load_cert_chain(certificate)
    try:
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            said = exchange(sock, get("/tls", "Connection: close"))
    except (ssl.SSLError, OSError):
        return None
    return json.loads(body_of(said)) if said else None


def test_clients_must_have_a_certificate_that_was_not_revoked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server, _ = authority.issue("server")
    ada, _ = authority.issue("ada")
    bob, revoked = authority.issue("bob")
    (tmp_path / "others").mkdir()
    stranger, _ = Authority(tmp_path / "others").issue("stranger")
    options = ("--ssl-ca-certs", authority.path, "--ssl-crl", authority.revoke(revoked))
    with serve(APP, "--ssl-certfile", server, *options) as served:
        said = asked_as(served, ada)
        assert said["client_cert_name"].startswith("CN=ada,")
        assert Path(ada).read_text().startswith(said["client_cert_chain"][0])
        for turned_away in (None, bob, stranger):
            assert asked_as(served, turned_away) is None
        assert asked_as(served, ada) is not None
        assert served.stop() == 0


def test_a_list_of_revoked_certificates_is_read_again_at_sighup(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server, _ = authority.issue("server")
    bob, certificate = authority.issue("bob")
    options = ("--ssl-ca-certs", authority.path, "--ssl-crl", authority.revoke())
    with serve(APP, "--ssl-certfile", server, *options) as served:
        assert asked_as(served, bob) is not None
        authority.revoke(certificate)
        served.signal(signal.SIGHUP)
        assert eventually(lambda: asked_as(served, bob) is None)


def test_clients_may_have_a_certificate_where_it_is_optional(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server, _ = authority.issue("server")
    ada, _ = authority.issue("ada")
    options = ("--ssl-ca-certs", authority.path, "--ssl-cert-reqs", "optional")
    with serve(APP, "--ssl-certfile", server, *options) as served:
        assert asked_as(served, None)["client_cert_name"] is None
        assert asked_as(served, ada)["client_cert_name"].startswith("CN=ada")


def test_ciphers_can_be_chosen_and_the_application_is_told(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    options = ("--ssl-certfile", cert, "--ssl-keyfile", key)
    name = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
    with serve(APP, *options, "--ssl-ciphers", name) as served:
        context = client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            said = json.loads(body_of(exchange(sock, get("/tls", "Connection: close"))))
        assert said["tls_version"] == 0x0303
        assert said["cipher_suite"] in (0xC02C, 0xC030)
        assert Path(cert).read_text().startswith(said["server_cert"])
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256")
        with served.connect() as raw, pytest.raises(ssl.SSLError):
            context.wrap_socket(raw)


def test_without_tls_nothing_is_said_of_it() -> None:
    with serve(APP) as served:
        assert body_of(ask(served, "/tls")) == b"null"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"ssl_keyfile": "k"}, "--ssl-keyfile needs --ssl-certfile"),
        ({"ssl_ca_certs": "k"}, "--ssl-ca-certs needs --ssl-certfile"),
        ({"ssl_certfile": CERT, "ssl_crl": CERT}, "need --ssl-ca-certs"),
        ({"ssl_certfile": CERT, "ssl_cert_reqs": "required"}, "need --ssl-ca-certs"),
        ({"ssl_certfile": CERT, "ssl_ciphers": "NONE"}, "--ssl-ciphers NONE"),
        ({"ssl_certfile": CERT, "ssl_ca_certs": "nothing"}, "--ssl-ca-certs or --ssl-crl"),
        ({"ssl_certfile": "nothing"}, "the certificate can't be read"),
    ],
)
def test_what_of_tls_can_not_be_is_refused(given: dict[str, str], why: str, tmp_path: Path) -> None:
    path, _ = Authority(tmp_path).issue("server")
    words = {name: path if value == CERT else value for name, value in given.items()}
    with pytest.raises(BadOption, match=why):
        make_tls(Options(**words))  # type: ignore[arg-type]


def test_a_name_is_written_as_rfc_4514_writes_it() -> None:
    subject = (
        (("countryName", "NO"),),
        (("organizationName", 'A, "B" + C'),),
        (("commonName", "#1 "), ("userId", "x")),
    )
    assert name_of(subject) == 'CN=\\#1\\ +UID=x,O=A\\, \\"B\\" \\+ C,C=NO'
