"""TLS by Python's ssl over memory buffers: the core sees plain bytes, the socket sealed ones."""

import ssl

from rookery_asgi._core import Connection
from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options

CHUNK = 256 * 1024


def make_context(options: Options) -> ssl.SSLContext | None:
    """A context for TLS 1.2 and 1.3, or None when no certificate is given."""
    if options.ssl_certfile is None:
        if options.ssl_keyfile is not None:
            raise BadOption("--ssl-keyfile needs --ssl-certfile")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(
            options.ssl_certfile, options.ssl_keyfile, options.ssl_keyfile_password
        )
    except (OSError, ssl.SSLError) as error:
        raise BadOption("the certificate can't be read", error) from None
    return context


class TlsFilter:
    """One connection's TLS. The core calls it with what arrives and with what is to be sent."""

    __slots__ = ("_conn", "_incoming", "_outgoing", "_ready", "_tls")

    def __init__(self, context: ssl.SSLContext, conn: Connection) -> None:
        """The handshake begins with the client's first bytes."""
        self._conn = conn
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ready = False

    def received(self, data: bytes) -> None:
        """Bytes from the socket."""
        self._incoming.write(data)
        try:
            if not self._ready:
                self._tls.do_handshake()
                self._ready = True
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
