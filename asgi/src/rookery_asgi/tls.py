"""TLS by Python's ssl over memory buffers: the core sees plain bytes, the socket sealed ones."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery_asgi._core import Connection
from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options

CHUNK = 256 * 1024
REQUIREMENTS = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
VERSIONS = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
SHORT = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
Name = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, slots=True)
class Tls:
    """What every connection needs of the options."""

    context: ssl.SSLContext
    certificate: str
    """The server's own, as PEM."""
    suites: dict[str, int]
    """The numbers of the cipher suites, by their names."""


def make_tls(options: Options) -> Tls | None:
    """TLS 1.2 and 1.3, or None when no certificate is given."""
    if options.ssl_certfile is None:
        check_unused(options)
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load_certificate(context, options)
    choose_ciphers(context, options.ssl_ciphers)
    ask_clients(context, options)
    suites = {cipher["name"]: cipher["id"] & 0xFFFF for cipher in context.get_ciphers()}
    return Tls(context, first_certificate(Path(options.ssl_certfile).read_text()), suites)


def check_unused(options: Options) -> None:
    """Without a certificate nothing else of TLS has a meaning."""
    for name in ("ssl_keyfile", "ssl_ca_certs", "ssl_cert_reqs", "ssl_crl", "ssl_ciphers"):
        if getattr(options, name) is not None:
            raise BadOption(f"--{name.replace('_', '-')} needs --ssl-certfile")


def load_certificate(context: ssl.SSLContext, options: Options) -> None:
    """The server's own."""
    assert options.ssl_certfile is not None
    try:
        context.load_cert_chain(
            options.ssl_certfile, options.ssl_keyfile, options.ssl_keyfile_password
        )
    except (OSError, ssl.SSLError) as error:
        raise BadOption("the certificate can't be read", error) from None


def choose_ciphers(context: ssl.SSLContext, ciphers: str | None) -> None:
    """Those of TLS 1.2; Python lets nobody choose those of TLS 1.3."""
    try:
        if ciphers is not None:
            context.set_ciphers(ciphers)
    except ssl.SSLError as error:
        raise BadOption(f"--ssl-ciphers {ciphers}", error) from None


def ask_clients(context: ssl.SSLContext, options: Options) -> None:
    """Which certificates clients must have, and which of them have been revoked."""
    if options.ssl_ca_certs is None:
        if options.ssl_crl is not None or options.ssl_cert_reqs not in (None, "none"):
            raise BadOption("--ssl-crl and --ssl-cert-reqs need --ssl-ca-certs")
        return
    context.verify_mode = REQUIREMENTS[options.ssl_cert_reqs or "required"]
    try:
        context.load_verify_locations(options.ssl_ca_certs)
        if options.ssl_crl is not None:
            context.load_verify_locations(options.ssl_crl)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_CHAIN
    except (OSError, ssl.SSLError) as error:
        raise BadOption("the certificates of --ssl-ca-certs or --ssl-crl", error) from None


def first_certificate(text: str) -> str:
    """The first in a file, which is the server's; the key may be in the file, too."""
    begin = text.find("-----BEGIN CERTIFICATE-----")
    end = text.find("-----END CERTIFICATE-----", begin)
    return text[begin:end] + "-----END CERTIFICATE-----\n"


def name_of(subject: Name) -> str:
    """A distinguished name as RFC 4514 writes it."""
    parts = (
        "+".join(f"{SHORT.get(kind, kind)}={escaped(value)}" for kind, value in part)
        for part in reversed(subject)
    )
    return ",".join(parts)


def escaped(value: str) -> str:
    """A value in such a name."""
    text = "".join(f"\\{c}" if c in '"+,;<>\\' else c for c in value)
    text = "\\" + text if text.startswith((" ", "#")) else text
    return text[:-1] + "\\ " if text.endswith(" ") and not text.endswith("\\ ") else text


def describe(tls: ssl.SSLObject, settings: Tls) -> dict[str, Any]:
    """What the extension "tls" of a scope says of the connection."""
    cipher, peer = tls.cipher(), tls.getpeercert()
    return {
        "server_cert": settings.certificate,
        "client_cert_chain": chain_of(tls),
        "client_cert_name": name_of(peer["subject"]) if peer else None,  # type: ignore[arg-type]
        "client_cert_error": None,
        "tls_version": VERSIONS.get(tls.version() or ""),
        "cipher_suite": settings.suites.get(cipher[0]) if cipher else None,
    }


def chain_of(tls: ssl.SSLObject) -> list[str]:
    """The client's certificates as PEM. Before Python 3.13 only its own can be had."""
    if tls.getpeercert() in (None, {}):
        return []
    get_chain = getattr(tls, "get_verified_chain", None)
    own = tls.getpeercert(binary_form=True)
    chain: list[bytes | None] = get_chain() if get_chain is not None else [own]
    return [ssl.DER_cert_to_PEM_cert(der) for der in chain if der]


class TlsFilter:
    """One connection's TLS. The core calls it with what arrives and with what is to be sent."""

    __slots__ = ("_conn", "_incoming", "_outgoing", "_ready", "_settings", "_tls", "scope")

    def __init__(self, settings: Tls, conn: Connection) -> None:
        """The handshake begins with the client's first bytes; then `scope` describes it."""
        self.scope: dict[str, Any] = {}
        self._settings = settings
        self._conn = conn
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        context = settings.context
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ready = False

    def received(self, data: bytes) -> None:
        """Bytes from the socket."""
        self._incoming.write(data)
        try:
            if not self._ready:
                self._tls.do_handshake()
                self._ready = True
                self.scope = describe(self._tls, self._settings)
            self._hand_over()
        except ssl.SSLWantReadError:
            self._send_own()
        except ssl.SSLError:
            # a client that speaks no TLS, or the wrong one; the alert, if any, still goes out
            self._send_own()
            self._conn.abort()

    def seal(self, data: bytes) -> bytes:
        """Bytes for the socket."""
        self._tls.write(data)
        return self._outgoing.read()

    def farewell(self) -> bytes:
        """The closing alert, so that the client knows that nothing was cut off."""
        if self._ready:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                # the client's own alert is not waited for
                return self._outgoing.read()
        return self._outgoing.read()

    def _hand_over(self) -> None:
        self._send_own()
        while True:
            try:
                plain = self._tls.read(CHUNK)
            except ssl.SSLWantReadError:
                self._send_own()
                return
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                plain = b""
            if not plain:
                self._conn.feed_eof()
                return
            self._conn.feed(plain)
            if not self._conn.open:
                return

    def _send_own(self) -> None:
        if self._outgoing.pending:
            self._conn.write_sealed(self._outgoing.read())
