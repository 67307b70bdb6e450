"""Small web servers that answer in threads of the test's process."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOK_SECONDS = 0.01
"""How often a server checks whether it should stop."""


@contextmanager
def web_server(
    handler: Callable[..., BaseHTTPRequestHandler],
    context: ssl.SSLContext | None = None,
    *,
    port: int = 0,
) -> Iterator[str]:
    """Serves requests with such handlers until the block ends; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        if context:
            # The handshake is done in the serving thread, so that an interrupted one blocks no
            # other client.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever, args=(LOOK_SECONDS,), daemon=True)
        thread.start()
        try:
            yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
