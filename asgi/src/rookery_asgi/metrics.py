"""The server's counters, as numbers and as Prometheus text."""

from collections.abc import Callable
from typing import Any

from rookery_asgi.types import App, Receive, Scope, Send

HELP = {
    "connections": "Connections accepted",
    "requests": "Requests handed to the application",
    "websockets": "WebSocket handshakes received",
    "refused": "Requests the server refused as malformed or too large",
    "timeouts": "Connections given up because the client was too slow",
    "failures": "Requests whose application raised or sent no whole response",
    "disconnects": "Requests whose client left before the response had ended",
    "rests": "Times that accepting rested for want of descriptors",
    "bytes_in": "Bytes received",
    "bytes_out": "Bytes sent",
}
GAUGES = {
    "open": "Connections that are open",
    "running": "Requests whose task is running",
    "workers": "Processes that serve",
}


def prometheus(counters: dict[str, Any]) -> str:
    """The counters in Prometheus' text format."""
    lines: list[str] = []
    for name, text in HELP.items():
        full = f"rookery_asgi_{name}_total"
        lines += [f"# HELP {full} {text}.", f"# TYPE {full} counter", f"{full} {counters[name]}"]
    for name, text in GAUGES.items():
        if name not in counters:
            continue
        full = f"rookery_asgi_{name}"
        lines += [f"# HELP {full} {text}.", f"# TYPE {full} gauge", f"{full} {counters[name]}"]
    full = "rookery_asgi_responses_total"
    lines += [f"# HELP {full} Responses by class.", f"# TYPE {full} counter"]
    for digit, count in enumerate(counters["responses"], start=1):
        lines.append(f'{full}{{class="{digit}xx"}} {count}')
    return "\n".join(lines) + "\n"


class MetricsPage:
    """Answers one path itself and passes everything else on."""

    def __init__(self, app: App, path: str) -> None:
        """`counters` is set once there are any."""
        self.counters: Callable[[], dict[str, Any]] | None = None
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http" or scope["path"] != self._path or self.counters is None:
            await self._app(scope, receive, send)
            return
        body = prometheus(self.counters()).encode()
        headers = [(b"content-type", b"text/plain; version=0.0.4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
