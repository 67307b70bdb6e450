"""A stand-in for GitHub's API: python -m tests.outside.fake_github FOLDER

Answers what lies in FOLDER under the path's own name (with slashes as `+`), counts down a quota,
knows ETags, and writes a line for each call into FOLDER/calls.
"""

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LIMIT = 60


class Answerer(BaseHTTPRequestHandler):
    folder: Path
    left = LIMIT

    def do_GET(self) -> None:
        with (self.folder / "calls").open("a") as calls:
            calls.write(f"{self.path} {self.headers.get('authorization', '-')}\n")
        file = self.folder / self.path.strip("/").replace("/", "+")
        if not file.is_file():
            self._answer(404, b'{"message": "Not Found"}', {})
            return
        body = file.read_bytes()
        if body.startswith(b"-> "):
            self._answer(301, b"", {"location": self._here(body[3:].decode().strip())})
            return
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        known = self.headers.get("if-none-match") == etag
        self._answer(304 if known else 200, b"" if known else body, {"etag": etag})

    def _here(self, path: str) -> str:
        return path if "://" in path else f"http://{self.headers['host']}{path}"

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        if status != 304 and self.path != "/rate_limit":
            Answerer.left -= 1
        self.send_response(status)
        quota = {"limit": LIMIT, "remaining": self.left, "used": LIMIT - self.left}
        for name, number in (quota | {"reset": 4_000_000_000}).items():
            self.send_header(f"x-ratelimit-{name}", str(number))
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Quiet."""


if __name__ == "__main__":
    Answerer.folder = Path(sys.argv[1])
    Answerer.left = int(sys.argv[2])
    with ThreadingHTTPServer(("127.0.0.1", 0), Answerer) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
