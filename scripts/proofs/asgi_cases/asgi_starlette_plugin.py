"""A pytest plugin: Starlette's test client sends its requests over real sockets to rookery-asgi."""

import asyncio
import http.client
import logging
import threading
from typing import Any

from rookery_asgi.loops import new_loop
from rookery_asgi.options import Options
from rookery_asgi.server import Server
from starlette import testclient

OPTIONS = Options(
    port=0,
    access_log=False,
    lifespan="off",  # the test client runs it itself
    server_header=False,
    date_header=False,
    timeout_graceful_shutdown=0.1,
)
Transport = testclient._TestClientTransport  # noqa: SLF001 - there is no public way in
in_memory = Transport.handle_request
sent = {"requests": 0}
# Python 3.11 may trip over two threads that show a traceback at once: only the tests' shall.
logging.getLogger("rookery_asgi").disabled = True


class Served:
    """One application on one port, in a thread, for one request."""

    def __init__(self, transport: Any, request: Any) -> None:
        """Returns when the server listens."""
        self.failures: list[BaseException] = []
        self.finished = threading.Event()
        self.port = 0
        self._transport = transport
        self._url = request.url
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        assert self._ready.wait(10)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        """The scope says what the test client's own scope would say."""
        scope["client"] = self._transport.client
        scope["root_path"] = self._transport.root_path
        scope["state"] = self._transport.app_state.copy()
        scope["scheme"] = self._url.scheme
        scope["server"] = (
            self._url.host,
            self._url.port or {"http": 80, "https": 443}[self._url.scheme],
        )
        try:
            await self._transport.app(scope, receive, send)
        except BaseException as error:
            self.failures.append(error)
            raise
        finally:
            self.finished.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = Server(self._app, OPTIONS)
        task = asyncio.create_task(self._server.serve())
        await self._server.listening.wait()
        self.port = int(self._server.addresses[0].rsplit(":", 1)[1])
        self._ready.set()
        await task

    def stop(self) -> None:
        """Stop the server; its thread ends by itself."""
        self._loop.call_soon_threadsafe(self._server.stop)


def send_request(connection: http.client.HTTPConnection, request: Any) -> None:
    """The request exactly as the test client made it."""
    connection.putrequest(
        request.method, request.url.raw_path.decode(), skip_host=True, skip_accept_encoding=True
    )
    for name, value in request.headers.raw:
        connection.putheader(name.decode("latin-1"), value)
    connection.endheaders()
    chunked = "transfer-encoding" in request.headers
    for part in request.stream:
        if part:
            connection.send(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
    if chunked:
        connection.send(b"0\r\n\r\n")


def exchange(served: Served, request: Any) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers and body; a cut connection is a 500."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    try:
        send_request(connection, request)
        answer = connection.getresponse()
        return answer.status, answer.headers.items(), answer.read()
    except (http.client.HTTPException, ConnectionError):
        return 500, [], b""
    finally:
        # the test client waits for background work, too
        served.finished.wait(10)
        connection.close()


def over_socket(transport: Any, request: Any) -> Any:
    """Stands in for the test client's way of calling the application."""
    if request.url.scheme in ("ws", "wss"):
        return in_memory(transport, request)
    sent["requests"] += 1
    served = Served(transport, request)
    try:
        status, headers, body = exchange(served, request)
    finally:
        served.stop()
    if transport.raise_server_exceptions and served.failures:
        raise served.failures[0]
    kept = [(k.lower(), v) for k, v in headers if k.lower() != "transfer-encoding"]
    httpx: Any = testclient.httpx  # type: ignore[attr-defined] # whichever one it uses
    stream = httpx.ByteStream(body)
    return httpx.Response(status, headers=kept, stream=stream, request=request)


Transport.handle_request = over_socket  # type: ignore[method-assign,assignment] # the point of it


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much went over sockets."""
    terminalreporter.write_line(f"requests over sockets: {sent['requests']}")
