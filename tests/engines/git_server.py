"""A git server with a certificate of its own, or without TLS."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.git_backend import GitBackend
from tests.web_servers import web_server

CERTIFICATE = Path(__file__).with_name("localhost.pem")


@contextmanager
def serving(root: Path, *, tls: bool) -> Iterator[str]:
    """The repositories below a folder; gives the address."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    with web_server(type("Serving", (GitBackend,), {"root": root}), context) as address:
        yield address
