"""A git server with a certificate of its own: git's http-backend behind TLS, or without it."""

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CERTIFICATE = Path(__file__).with_name("localhost.pem")
BACKEND = ("git", "http-backend")
PASSED_ON = {
    "Content-Type": "CONTENT_TYPE",
    "Content-Length": "CONTENT_LENGTH",
    "Content-Encoding": "HTTP_CONTENT_ENCODING",
    "Git-Protocol": "GIT_PROTOCOL",
}


class _Serving(BaseHTTPRequestHandler):
    """One request, answered by the backend as a web server has it answered; see git's manual."""

    root: Path

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        said = {
            name: self.headers[header] for header, name in PASSED_ON.items() if self.headers[header]
        }
        variables = {
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            **said,
        }
        done = subprocess.run(BACKEND, input=body, env=variables, capture_output=True, check=True)
        self._send(*done.stdout.split(b"\r\n\r\n", 1))

    def _send(self, head: bytes, body: bytes) -> None:
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests look at what was fetched."""


@contextmanager
def serving(root: Path, *, tls: bool) -> Iterator[str]:
    """The repositories below a folder; gives the address."""
    handler = type("Serving", (_Serving,), {"root": root})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            # The handshake is for the thread that serves: who breaks it off stops nobody else.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
