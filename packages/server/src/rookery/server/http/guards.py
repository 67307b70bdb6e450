"""Refuses requests before anything acts on them: misdirected or oversized ones, visitors of a
closed site, forms sent by another site, blocked users, and all requests during a stop."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import stopping_answer
from rookery.server.http.bodies import Replayed, decode_body, read_body
from rookery.server.http.callers import find_caller
from rookery.server.http.faults import (
    BadHost,
    BadPath,
    BodyTooLarge,
    CsrfRefused,
    HeadersTooLarge,
    PathTooLong,
    Unauthorized,
)
from rookery.server.http.limits import RequestBounds
from rookery.server.http.multipart import is_multipart, peek_first_field
from rookery.server.http.scope import (
    ASKS_NOBODY,
    FORM_TYPE,
    FRAME_PATHS,
    HANDOUT_PREFIX,
    LINK_PATHS,
    PROBE_PATHS,
    PROGRAM_PATHS,
    SIGN_UP_PATH,
    STATIC_PREFIX,
    TOKENS_PATH,
    Audience,
    body_in,
    comes_from_another_site,
    has_endpoint,
    header,
    header_values,
    headers_of,
    http_version_of,
    is_form_shown_again,
    is_http,
    is_same_for_all,
    method_of,
    parse_form,
    path_of,
    query_of,
    raw_path_of,
    request_info_of,
    session_of,
    set_session,
)
from rookery.server.http.session import CSRF_FIELD, Session
from rookery.server.identity.users import Scope as TokenScope

if TYPE_CHECKING:
    from rookery.server.app.site import Site

_STRAY_PERCENT = re.compile(rb"%(?![0-9a-fA-F]{2})")


class HostCheck:
    """Checks whether a request is meant for this server."""

    def __init__(self, site: "Site") -> None:
        # Nearly all requests name the same host.
        self._allowed = lru_cache(maxsize=256)(site.hosts.allow)

    def allows(self, host: bytes | None) -> bool:
        """Whether this server answers to this host name. False for a request without one, which
        only `check` can accept."""
        return host is not None and self._allowed(host.decode("latin-1"))

    def check(self, scope: Scope) -> None:
        """Raise BadHost for a foreign host name. Calls from another instance were checked there.

        Probes may use any name: proxies and Prometheus use an instance's name in its own network,
        and the answers contain neither links nor personal data.
        """
        if request_info_of(scope).forwarded is not None:
            return
        named = header_values(scope, b"host")
        if not named and http_version_of(scope) == "1.0":
            return
        if len(named) != 1:
            raise BadHost
        if path_of(scope) not in PROBE_PATHS and not self._allowed(named[0].decode("latin-1")):
            raise BadHost


@runs(Domain.LOOP, "compares a few lengths and one name")
class RequestLimits:
    """Checks host, address, headers and body, in this order."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._limits = site.limits
        self._hosts = HostCheck(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        self._hosts.check(scope)
        _check_address(scope, self._limits)
        _check_headers(scope, self._limits)
        most, little = self._limits.largest_body(path_of(scope)), self._limits.strangers_bytes
        if path_of(scope) in ASKS_NOBODY:
            most = little
        _check_announced_length(scope, most)
        if not has_credentials(scope):
            # Only bytes that are read count: most of these requests are refused before that.
            most = min(most, little)
        await self.app(scope, _counting(receive, most), send)


def has_credentials(scope: Scope) -> bool:
    """Whether a request contains credentials of any kind. Endpoints that read its body check these
    first, and the session of a form before the form."""
    proofs = (b"authorization", b"cookie")
    return any(name in proofs for name, _ in headers_of(scope))


def _check_address(scope: Scope, limits: RequestBounds) -> None:
    path, raw, query = path_of(scope), raw_path_of(scope), query_of(scope)
    if len(raw) + len(query) > limits.path_bytes:
        raise PathTooLong
    # U+FFFD is what the server decodes invalid percent escapes to.
    if "\0" in path or "\ufffd" in path or b"%00" in query or b"\0" in query:
        raise BadPath
    if b"%" in raw and _STRAY_PERCENT.search(raw):
        raise BadPath


def _check_headers(scope: Scope, limits: RequestBounds) -> None:
    headers = headers_of(scope)
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > limits.headers or size > limits.head_bytes:
        raise HeadersTooLarge


def _check_announced_length(scope: Scope, most: int) -> None:
    length = header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > most:
        raise BodyTooLarge


def _counting(receive: Receive, most: int) -> Receive:
    """A `receive` that limits bodies which come in pieces and announce no length."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(body_in(message))
        if seen > most:
            raise BodyTooLarge
        return message

    return counted


# Shows a closed site only to people with an account on it.
#
# People are redirected to the login, programs get a 401. Workers are not affected: their calls
# carry their own credentials and take the short path around this layer. The files that they fetch
# are identified by their hash, or belong to a private engine and are protected by their endpoint.

OPEN = PROGRAM_PATHS | FRAME_PATHS | LINK_PATHS | {"/login", "/logout", "/signup", TOKENS_PATH}
OPEN_PREFIXES = (STATIC_PREFIX, HANDOUT_PREFIX, "/api/nn/", "/api/book/", "/api/binary/", "/src/")


@runs(Domain.LOOP, "looks at the session, or at a token that is remembered")
class ClosedSite:
    """Refuses visitors without an account on a closed site; does nothing on an open one."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._closed = site.settings.login_to_view
        self._bearers = site.bearers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shut = self._closed and is_http(scope) and not _is_open(scope)
        if not shut or await self._is_known(scope):
            await self.app(scope, receive, send)
        elif request_info_of(scope).audience is Audience.PERSON:
            await RedirectResponse(_login(scope), 303)(scope, receive, send)
        else:
            raise Unauthorized

    async def _is_known(self, scope: Scope) -> bool:
        if session_of(scope).user:
            return True
        caller = await find_caller(Request(scope), self._bearers)
        return caller is not None and caller.scopes != {TokenScope.WORKER}


def _is_open(scope: Scope) -> bool:
    path = path_of(scope)
    signing_up = path == SIGN_UP_PATH and method_of(scope) == "POST"
    return (
        signing_up or is_form_shown_again(scope) or path in OPEN or path.startswith(OPEN_PREFIXES)
    )


def _login(scope: Scope) -> str:
    """The address of the login page. It leads back to a page, but not to a posted form, since a
    link can't post it again."""
    return f"/login?next={quote(path_of(scope))}" if method_of(scope) == "GET" else "/login"


# Makes sure that a change was meant by the person whose session it uses.
#
# A page's post must carry the session's token, in the field `csrf_token` or in a header. In a form
# with files the token must be the first field, since nothing after it is read before the check. A
# program's call needs no token, but is then treated as anonymous: the cookie alone gives it no
# rights.
#
# A form that takes time to fill in passes without its token, but marked, to be shown again. One
# from another site does not, since a person did not type it here.

HEADER = b"x-csrf-token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@runs(Domain.LOOP, "reads small forms; large ones are taken apart in a thread")
class CsrfGuard:
    """Checks the CSRF token of posts. A form that it had to read is kept in the request's info, so
    that it is read only once."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._threads = site.threads
        self._strangers_bytes = site.limits.strangers_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and method_of(scope) not in _SAFE:
            audience = request_info_of(scope).audience
            if audience is Audience.PERSON:
                receive = await self._checked(scope, receive)
            elif audience is Audience.PROGRAM:
                _forget_session_without_token(scope)
        await self.app(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        token = header(scope, HEADER)
        if header(scope, b"content-type").split(";")[0].strip().lower() == FORM_TYPE:
            # A form is read only if the session says whose it is.
            known = session_of(scope).user
            body = await read_body(receive, most=None if known else self._strangers_bytes)
            form = request_info_of(scope).form = await decode_body(body, parse_form, self._threads)
            token, receive = token or form.text(CSRF_FIELD), Replayed.whole(body, receive)
        elif not token and is_multipart(scope):
            peeked = await peek_first_field(scope, receive)
            token = peeked.first_text if peeked.first_name == CSRF_FIELD else ""
            receive = peeked.receive
        if not session_of(scope).accepts(token) and has_endpoint(scope):
            if not is_form_shown_again(scope) or comes_from_another_site(scope):
                raise CsrfRefused
            request_info_of(scope).unproven = True
        return receive


def _forget_session_without_token(scope: Scope) -> None:
    token = header(scope, HEADER)
    if not token or not session_of(scope).accepts(token):
        set_session(scope, Session.empty())


# Ends the session of a user who was blocked, removed, logged out or got a new password.

AWAY = "/"


@runs(Domain.LOOP, "one look at the database in two seconds for each signed-in user")
class BlockedUsers:
    """Ends sessions that no longer count. People are redirected to the start page; programs' calls,
    and forms that are shown again, continue as anonymous."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._sessions = site.sessions
        self._log = site.log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and _may_have_session(scope) and await self._must_go(scope):
            name = session_of(scope).user
            self._drop(scope)
            if request_info_of(scope).audience is Audience.PERSON:
                if told := await self._sessions.explain_end(name):
                    session_of(scope).flash(told, "error")
                if not is_form_shown_again(scope):
                    await RedirectResponse(AWAY, 303)(scope, receive, send)
                    return
        await self.app(scope, receive, send)

    async def _must_go(self, scope: Scope) -> bool:
        data = session_of(scope).data
        return bool(data.user) and not await self._sessions.holds(data)

    def _drop(self, scope: Scope) -> None:
        session = session_of(scope)
        request = request_info_of(scope).request_id
        self._log.info("session_ended", user=session.user, request=request)
        session.drop()


def _may_have_session(scope: Scope) -> bool:
    """Whether the request may depend on a session. Files that are the same for all, such as style
    sheets, must not cost a database query."""
    return bool(header(scope, b"cookie")) and not is_same_for_all(path_of(scope))


# Refuses requests while the process stops, except for probes.


@runs(Domain.LOOP, "reads one flag")
class ShutdownGuard:
    """Answers 503 during a stop. The text is not JSON, so that a worker tries again instead of
    giving up."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._lifecycle = site.lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._lifecycle.stopping and is_http(scope) and path_of(scope) not in PROBE_PATHS:
            await stopping_answer()(scope, receive, send)
        else:
            await self.app(scope, receive, send)
