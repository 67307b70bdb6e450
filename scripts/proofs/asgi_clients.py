#!/usr/bin/env python3
"""Serves curl, wrk and nginx with rookery-asgi. They must be on the PATH. Exit 0 when all hold."""

import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ASGI = Path(__file__).resolve().parents[2] / "asgi"
sys.path.insert(0, str(ASGI))

NGINX = """
daemon off; error_log stderr error; pid {folder}/nginx.pid; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log off; client_max_body_size 0;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream app {{ server 127.0.0.1:{port}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{front};
    location / {{
      proxy_pass http://app; proxy_http_version 1.1;
      proxy_request_buffering off; proxy_buffering off;
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
    }}
  }}
}}
"""


def curl(*arguments: str, stdin: bytes = b"") -> bytes:
    """Runs curl and returns its output."""
    command = ["curl", "-sS", "--max-time", "30", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def check_curl(url: str) -> None:
    """Several requests on one connection, an upload with Expect, an upload of unknown length."""
    assert curl(url, url, url) == b"hello" * 3
    big = b"x" * 3_000_000
    assert (
        curl("-H", "Expect: 100-continue", "--data-binary", "@-", f"{url}/count", stdin=big)
        == b"3000000"
    )
    assert curl("-T", "-", "-X", "POST", f"{url}/count", stdin=big) == b"3000000"
    assert curl("--http1.0", url) == b"hello"
    assert b"content-length: 5" in curl("-I", url)
    assert len(curl(f"{url}/stream?3")) == 3 << 20
    print("curl: keep-alive, 100-continue, chunked upload, HTTP/1.0, HEAD, stream")


def check_wrk(url: str) -> None:
    """No errors under load, with and without keep-alive."""
    for extra in ([], ["-H", "Connection: close"]):
        done = subprocess.run(
            ["wrk", "-t1", "-c100", "-d2s", *extra, url], capture_output=True, text=True, check=True
        )
        assert "Socket errors" not in done.stdout, done.stdout
        assert "Non-2xx" not in done.stdout, done.stdout
        print("wrk:", done.stdout.strip().splitlines()[-2].strip(), *extra)


def check_nginx(folder: Path, port: int, front: int) -> None:
    """nginx in front: requests, headers, an upload, a stream and a WebSocket."""
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, front=front))
    nginx = subprocess.Popen(["nginx", "-c", str(config), "-p", str(folder)])
    try:
        time.sleep(1)
        url = f"http://127.0.0.1:{front}"
        for _ in range(50):
            assert curl(url) == b"hello"
        scope = curl(f"{url}/scope")
        assert b'"scheme": "https"' in scope, scope
        assert curl("-T", "-", "-X", "POST", f"{url}/count", stdin=b"x" * 5_000_000) == b"5000000"
        assert len(curl(f"{url}/stream?20")) == 20 << 20
        check_websocket(front)
        done = subprocess.run(
            ["wrk", "-t1", "-c32", "-d2s", url], capture_output=True, text=True, check=True
        )
        assert "Non-2xx" not in done.stdout, done.stdout
        print("nginx: requests, forwarded headers, upload, stream, WebSocket, load")
    finally:
        nginx.terminate()
        nginx.wait(10)


def check_websocket(port: int) -> None:
    """An echo through the proxy."""
    from websockets.sync.client import connect

    with connect(f"ws://127.0.0.1:{port}/") as socket:
        socket.send("hello" * 1000)
        assert socket.recv() == "hello" * 1000


def main() -> int:
    """All clients against one server."""
    from tests.serving import serve

    with tempfile.TemporaryDirectory() as name, serve("tests.apps:app") as served:
        assert urllib.request.urlopen(served.url, timeout=10).read() == b"hello"
        check_curl(served.url)
        check_wrk(served.url)
        check_nginx(Path(name), served.port, served.port + 1 if served.port < 65000 else 18099)
        assert served.stop() == 0
        assert "Traceback" not in served.log
    return 0


if __name__ == "__main__":
    sys.exit(main())
