"""Turns requests away before anything acts on them: misdirected or too large ones, visitors of a
closed site, forms that another site sent, blocked users, and all of them during a stop."""

import re
from functools import lru_cache
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.people.users import Scope as TokenScope
from rookery.web.answers import stopping_answer
from rookery.web.bodies import Replayed, decode_body, read_body
from rookery.web.callers import find_bearer
from rookery.web.faults import (
    BadHost,
    BadPath,
    BodyTooLarge,
    CsrfRefused,
    HeadersTooLarge,
    PathTooLong,
    Unauthorized,
)
from rookery.web.limits import RequestBounds
from rookery.web.multipart import is_multipart, peek_first_field
from rookery.web.scope import (
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
    header,
    header_values,
    headers_of,
    http_version_of,
    is_form_shown_again,
    is_http,
    is_same_for_all,
    leads_somewhere,
    method_of,
    parse_form,
    path_of,
    query_of,
    raw_path_of,
    request_info_of,
    session_of,
    set_session,
)
from rookery.web.session import CSRF_FIELD, Session
from rookery.web.site import Site

_STRAY_PERCENT = re.compile(rb"%(?![0-9a-fA-F]{2})")


class HostCheck:
    """Whether a request is meant for this server."""

    def __init__(self, site: Site) -> None:
        # Nearly every request names the same host.
        self._allowed = lru_cache(maxsize=256)(site.hosts.allow)

    def allows(self, host: bytes | None) -> bool:
        """Whether a request that names one host is for us; one that names none is looked at."""
        return host is not None and self._allowed(host.decode("latin-1"))

    def check(self, scope: Scope) -> None:
        """Raises BadHost. Where another instance has sent a request on, that one has looked.

        Probes may use any name: proxies and Prometheus ask by the name that an instance has in its
        own network, and their answers hold neither links nor anything of a person's.
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
    """Host, address, headers and body, in this order."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
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
            # Only what is read counts: most are told to say who they are before anybody reads.
            most = min(most, little)
        await self.app(scope, _counting(receive, most), send)


def has_credentials(scope: Scope) -> bool:
    """Whether a request brings what its sender can be known by; who reads its body looks at that
    first, and at the session of a form before the form."""
    proofs = (b"authorization", b"cookie")
    return any(name in proofs for name, _ in headers_of(scope))


def _check_address(scope: Scope, limits: RequestBounds) -> None:
    path, raw, query = path_of(scope), raw_path_of(scope), query_of(scope)
    if len(raw) + len(query) > limits.path_bytes:
        raise PathTooLong
    # U+FFFD is what the server makes of percent signs that spell no character.
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
    """For bodies that come in pieces and announce no length."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(body_in(message))
        if seen > most:
            raise BodyTooLarge
        return message

    return counted


# Shows a closed site to those alone who have an account on it.
#
# People are led to the login, programs get a 401. Workers go on working: their calls carry their
# own credentials and take the short path past this, and what they fetch to play with is known by
# its hash, or is a private engine's and guarded by itself.

OPEN = PROGRAM_PATHS | FRAME_PATHS | LINK_PATHS | {"/login", "/logout", "/signup", TOKENS_PATH}
OPEN_PREFIXES = (STATIC_PREFIX, HANDOUT_PREFIX, "/api/nn/", "/api/book/", "/api/binary/", "/src/")


@runs(Domain.LOOP, "looks at the session, or at a token that is remembered")
class ClosedSite:
    """Lets everything through where the site is open."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
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
        bearer = await find_bearer(Request(scope), self._bearers)
        return bearer is not None and bearer.scopes != {TokenScope.WORKER}


def _is_open(scope: Scope) -> bool:
    path = path_of(scope)
    signing_up = path == SIGN_UP_PATH and method_of(scope) == "POST"
    return (
        signing_up or is_form_shown_again(scope) or path in OPEN or path.startswith(OPEN_PREFIXES)
    )


def _login(scope: Scope) -> str:
    """A form that was sent can't be sent again by a link."""
    return f"/login?next={quote(path_of(scope))}" if method_of(scope) == "GET" else "/login"


# Makes sure that what changes something was meant by the person whose session it uses.
#
# A page's post must carry the session's token, in the field `csrf_token` or in a header; of a form
# with files it must be the first field, since nothing behind it is read before. A program's call
# needs none, but is then treated as nobody's: the cookie alone gives it no rights.
#
# A form that costs time to fill in goes on without its token, marked, to be shown again. From
# another site it does not, since nobody has typed what that one makes a browser show here.

HEADER = b"x-csrf-token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@runs(Domain.LOOP, "reads small forms; large ones are taken apart in a thread")
class CsrfGuard:
    """Leaves the form it had to read in the request's info, so that nobody reads it twice."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
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
            # A form is read before it is known whose it is, but for what the session says.
            known = session_of(scope).user
            body = await read_body(receive, most=None if known else self._strangers_bytes)
            form = request_info_of(scope).form = await decode_body(body, parse_form, self._threads)
            token, receive = token or form.text(CSRF_FIELD), Replayed.whole(body, receive)
        elif not token and is_multipart(scope):
            peeked = await peek_first_field(scope, receive)
            token = peeked.first_text if peeked.first_name == CSRF_FIELD else ""
            receive = peeked.receive
        if not session_of(scope).accepts(token) and leads_somewhere(scope):
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
    """People are led to the start page; a program's call goes on as nobody's, and so does a form
    that is shown again."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
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
    """A page's style sheet must not cost a look at the database."""
    return bool(header(scope, b"cookie")) and not is_same_for_all(path_of(scope))


# Turns requests away while the process stops; probes may still ask.


@runs(Domain.LOOP, "reads one flag")
class ShutdownGuard:
    """The text is no JSON, so that a worker tries again instead of giving up."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._lifecycle = site.lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._lifecycle.stopping and is_http(scope) and path_of(scope) not in PROBE_PATHS:
            await stopping_answer()(scope, receive, send)
        else:
            await self.app(scope, receive, send)
