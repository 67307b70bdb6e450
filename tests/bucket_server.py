"""A real S3 server, `rclone serve s3` on a folder, which can be killed and suspended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from rookery.server.files.bucket import BucketAddress
from tests.ports import kept_port

KEY, SECRET = "rookery-test", "a-secret-of-the-tests"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
BUCKET = "farm"
START_SECONDS = 30.0


@contextmanager
def serve_bucket(folder: Path) -> Iterator["BucketServer"]:
    """Runs a server that keeps its port even while it is down."""
    with kept_port() as port:
        server = BucketServer(folder, port)
        server.start()
        try:
            yield server
        finally:
            server.kill()


class BucketServer:
    """An S3 server whose buckets are the folders below `folder`."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def address(self, prefix: str = "site") -> BucketAddress:
        return BucketAddress(BUCKET, prefix, endpoint=self.endpoint)

    def url(self, prefix: str = "site") -> str:
        """The address of the bucket in the form of ROOKERY_FILES_URL."""
        return f"s3://{BUCKET}/{prefix}?endpoint={self.endpoint}"

    def start(self) -> None:
        # A bucket is a folder; the server does not see one that is created later for a while.
        (self.folder / BUCKET).mkdir(parents=True, exist_ok=True)
        program = Path(sys.executable).parent / "rclone"
        self._process = subprocess.Popen(
            [
                str(program),
                *("serve", "s3", f"--auth-key={KEY},{SECRET}", "--config=", "--log-level=ERROR"),
                *(f"--addr=127.0.0.1:{self.port}", str(self.folder)),
            ],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, "rclone ended"
            assert time.monotonic() < deadline, "rclone does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Suspends the server: connections are accepted, but nothing is answered."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def list_files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def _answers(self) -> bool:
        try:
            urlopen(self.endpoint, timeout=1).close()
        except HTTPError:
            return True
        except (URLError, OSError):
            return False
        return True


class _RangeAnswers(BaseHTTPRequestHandler):
    """Forwards requests, and answers ranges with the right status, as S3 does and rclone does
    not."""

    protocol_version = "HTTP/1.1"
    behind: ClassVar[int]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        line = HTTPConnection("127.0.0.1", self.behind, timeout=START_SECONDS)
        line.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            line.putheader(name, value)
        line.endheaders(body)
        answer = line.getresponse()
        content = answer.read()
        part = answer.status == 200 and answer.getheader("content-range")
        self.send_response(206 if part else answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", "transfer-encoding", "content-length"}:
                self.send_header(name, value)
        size = answer.getheader("content-length") if self.command == "HEAD" else len(content)
        self.send_header("content-length", str(size))
        self.end_headers()
        self.wfile.write(content)
        line.close()

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815 - http.server calls these

    def log_message(self, *_words: object) -> None:
        """Logs nothing."""


@contextmanager
def answer_ranges(server: "BucketServer") -> Iterator[BucketAddress]:
    """The address of a server's bucket, with ranges answered as by S3."""
    handler = type("Answers", (_RangeAnswers,), {"behind": server.port})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        thread = Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield BucketAddress(BUCKET, "ranges", endpoint=f"http://127.0.0.1:{proxy.server_port}")
        finally:
            proxy.shutdown()
            thread.join()
