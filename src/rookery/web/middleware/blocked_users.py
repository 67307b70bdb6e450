"""Ends the session of a user who was blocked, removed, logged out or got a new password."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import Kit
from rookery.web.paths import Audience, is_same_for_all
from rookery.web.scope import facts_of, header, is_http, path_of, session_of

AWAY = "/"


@runs(Domain.LOOP, "one look at the database in two seconds for each signed-in user")
class BlockedUsers:
    """People are led to the start page; a program's call goes on as nobody's."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._standing = kit.standing
        self._log = kit.house.log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and _may_have_session(scope) and await self._must_go(scope):
            self._drop(scope)
            if facts_of(scope).audience is Audience.PERSON:
                await RedirectResponse(AWAY, 303)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _must_go(self, scope: Scope) -> bool:
        data = session_of(scope).data
        return bool(data.user) and not await self._standing.holds(data)

    def _drop(self, scope: Scope) -> None:
        session = session_of(scope)
        request = facts_of(scope).request_id
        self._log.info("session_ended", user=session.user, request=request)
        session.drop()


def _may_have_session(scope: Scope) -> bool:
    """A page's style sheet must not cost a look at the database."""
    return bool(header(scope, b"cookie")) and not is_same_for_all(path_of(scope))
