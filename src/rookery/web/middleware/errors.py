"""The last net: whatever is raised inside becomes an answer in the right shape."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.answers import answer_to, stopping
from rookery.web.kit import Kit
from rookery.web.scope import is_http, status_in


@runs(Domain.LOOP, "shapes the answer; an error page is rendered in a thread")
class Errors:
    """Once an answer has begun, all that is left is to break it off, which the server does."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._kit = kit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = begun or status_in(message) is not None
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except asyncio.CancelledError:
            # The drain is over: the last that can be done for this client is to say so.
            if begun or not self._kit.house.lifecycle.stopping:
                raise
            await stopping()(scope, receive, send)
        except Exception as error:
            if begun:
                raise
            answer = await answer_to(error, scope, self._kit)
            await answer(scope, receive, send)
