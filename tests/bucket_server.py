"""A real S3 server, `rclone serve s3` on a folder, which can be killed and stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from rookery.files.bucket import BucketAddress
from tests.ports import kept_port

KEY, SECRET = "rookery-test", "a-secret-of-the-tests"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
BUCKET = "farm"
START_SECONDS = 30.0


@contextmanager
def serve_bucket(folder: Path) -> Iterator["BucketServer"]:
    """A server that keeps its port also while it is down."""
    with kept_port() as port:
        server = BucketServer(folder, port)
        server.start()
        try:
            yield server
        finally:
            server.kill()


class BucketServer:
    """Its buckets are the folders below `folder`."""

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
        """The same as ROOKERY_FILES_URL takes it."""
        return f"s3://{BUCKET}/{prefix}?endpoint={self.endpoint}"

    def start(self) -> None:
        # A bucket is a folder; one that is made later is not seen for a while.
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
        """Connections are taken and nothing is answered."""
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
