"""HEAD works wherever GET works: the same answer without its body."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.scope import as_get, is_http, method_of, remember_route, status_in


@runs(Domain.LOOP, "changes the method and drops the body")
class Head:
    """The outer scope keeps its method: the server needs it to send no body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope) or method_of(scope) != "HEAD":
            await self.app(scope, receive, send)
            return
        inner = as_get(scope)
        try:
            await self.app(inner, receive, _without_body(send))
        finally:
            remember_route(scope, inner)


def _without_body(send: Send) -> Send:
    ended = False

    async def stripped(message: Message) -> None:
        nonlocal ended
        if ended:
            return
        if status_in(message) is None:
            # A stream would go on for ever: whoever makes it learns that nobody listens.
            ended = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    return stripped
