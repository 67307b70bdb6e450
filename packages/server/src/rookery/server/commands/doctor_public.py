"""Checks of a site from outside: its certificate, what its proxy changes in requests, and whether
events arrive at once. Everything here blocks."""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import SplitResult, urlsplit

import msgspec

from rookery.core.client.logins import ServerFlags
from rookery.core.http_client import HttpAnswer, HttpClient
from rookery.core.http_failures import CallFailed
from rookery.core.http_places import is_loopback, is_public
from rookery.core.protocol import v1
from rookery.server.commands.check_results import (
    CheckResult,
    failed,
    judge_backup,
    judge_clock,
    judge_disk,
    skipped,
    warned,
    well,
)
from rookery.server.servers.probes import Ready, SeenCaller

SECONDS = 10.0
FEW_DAYS, LAST_DAYS = timedelta(days=21), timedelta(days=3)
LARGE_BODY = 100 * 10**6
PATIENCE_SECONDS = 3.0
"""How long a proxy may take to refuse a body by its announced length."""
FIRST_EVENT_SECONDS = 5.0
UPLOAD = "/api/upload_pgn"
OURS = b"x-request-id:"
UNAUTHORIZED, FORBIDDEN, MISSING, OK = 401, 403, 404, 200
INSIDE = "/api/v1/server"
NOT_LOOKED_AT = "backup, disk"


def examine_site(address: str) -> Iterator[CheckResult]:
    """All checks. If there is no answer, only the first ones."""
    place = urlsplit(address)
    if place.scheme == "https":
        yield check_certificate(place)
    elif not is_loopback(place.hostname or ""):
        yield failed("TLS", "the address has none", "passwords travel in the clear: use https")
    client = HttpClient(SECONDS)
    try:
        yield check_readiness(client.call("GET", f"{address}/readyz"))
        yield from check_caller(client, address, place)
    except CallFailed as problem:
        yield failed(
            "server", str(problem), "is the server up, and does the proxy pass requests to it?"
        )
        return
    yield check_body_size(place)
    yield check_events(address)
    yield check_hidden(client.call("GET", f"{address}/metrics"))
    yield check_sign_up(client.call("GET", f"{address}/signup"))
    yield from check_inside(address)


def check_inside(address: str) -> Iterator[CheckResult]:
    """Yield checks of what a server tells only approvers, with the token of `rookery login`."""
    try:
        body = ServerFlags(server=address).transport(seconds=SECONDS).call("GET", INSIDE)
        entry = msgspec.json.decode(body, type=v1.ServerEntry)
    except CallFailed as problem:
        status = getattr(problem, "status", 0)
        if status == MISSING:
            yield skipped(NOT_LOOKED_AT, "this server can't tell", "it is older than this version")
        elif status in (UNAUTHORIZED, FORBIDDEN):
            advice = f"with an approver's token: rookery login {address}"
            yield skipped(NOT_LOOKED_AT, "the server tells only approvers", advice)
        else:
            yield failed("inside", str(problem), "see the server's log")
        return
    except msgspec.MsgspecError:
        yield skipped(
            NOT_LOOKED_AT, "this server answers in another form", "use the doctor of its version"
        )
        return
    yield from judge_inside(entry)


def judge_inside(entry: v1.ServerEntry) -> Iterator[CheckResult]:
    yield well("version", f"{entry.version}, a {entry.role} with {entry.other_servers} others")
    yield judge_disk(entry.disk_free_bytes, entry.disk_reserve_bytes, "at the server")
    if not entry.database_up:
        yield failed("database", "it does not answer", "see docs/operate.md")
        return
    age = entry.backup_age_seconds
    yield judge_backup(None if age is None else timedelta(seconds=age))


def open_connection(place: SplitResult) -> socket.socket:
    """Open a connection to a site, with TLS if its address is https."""
    port = place.port or (443 if place.scheme == "https" else 80)
    raw = socket.create_connection((place.hostname or "", port), SECONDS)
    if place.scheme != "https":
        return raw
    try:
        return ssl.create_default_context().wrap_socket(raw, server_hostname=place.hostname)
    except BaseException:
        raw.close()
        raise


def check_certificate(place: SplitResult) -> CheckResult:
    try:
        with open_connection(place) as line:
            assert isinstance(line, ssl.SSLSocket)
            shown, version = line.getpeercert(), line.version()
    except ssl.SSLCertVerificationError as error:
        return failed("TLS", error.verify_message, "get a certificate that browsers trust")
    except (OSError, ssl.SSLError) as error:
        return failed("TLS", str(error), "no connection with TLS could be made")
    since, until = (
        datetime.fromtimestamp(ssl.cert_time_to_seconds(str((shown or {})[name])), UTC)
        for name in ("notBefore", "notAfter")
    )
    return judge_certificate(since, until, datetime.now(UTC), version or "TLS")


def judge_certificate(since: datetime, until: datetime, now: datetime, version: str) -> CheckResult:
    """Check the time that is left. Certificates are usually renewed when a third of their time is
    left, be that a month or some hours."""
    left = until - now
    found = f"{version}, the certificate is valid for {left.days} days more"
    if left < min(FEW_DAYS, (until - since) / 5):
        judge = failed if left < min(LAST_DAYS, (until - since) / 20) else warned
        return judge("TLS", found, "its renewal does not work: look at the proxy's log")
    return well("TLS", found)


def check_readiness(answer: HttpAnswer) -> CheckResult:
    try:
        ready = msgspec.json.decode(answer.body, type=Ready)
    except msgspec.MsgspecError:
        advice = "the proxy answers by itself, or leads elsewhere"
        return failed("server", f"/readyz answers {answer.status}, but not as Rookery does", advice)
    if not ready.ready:
        return failed("server", f"not ready: {ready.reason}", "see docs/operate.md")
    if ready.warning:
        return warned("server", ready.warning, "see docs/operate.md")
    return well("server", f"ready, a {ready.role} answers")


# What the proxy passes on of a request.


def check_caller(client: HttpClient, address: str, place: SplitResult) -> Iterator[CheckResult]:
    before = datetime.now(UTC)
    answer = client.call("GET", f"{address}/callerz")
    after = datetime.now(UTC)
    if answer.status == MISSING:
        yield warned("proxy", "this server has no /callerz", "it is an older version")
        return
    try:
        seen = msgspec.json.decode(answer.body, type=SeenCaller)
    except msgspec.MsgspecError:
        found = f"/callerz answers {answer.status} without JSON"
        yield failed("proxy", found, "the proxy must pass on all paths")
        return
    yield from judge_caller(seen, place, _local_address(place))
    yield judge_clock("clock", "the server's clock", seen.time, before, after)


def judge_caller(seen: SeenCaller, place: SplitResult, local: str) -> Iterator[CheckResult]:
    """Compare what the server received with what was sent from the address `local`."""
    if seen.scheme != place.scheme:
        found = f"the server thinks that it was called by {seen.scheme}"
        advice = "pass X-Forwarded-Proto on and name the proxy in ROOKERY_TRUSTED_PROXIES"
        yield failed("scheme", found, advice)
    else:
        yield well("scheme", seen.scheme)
    if seen.host.lower() != place.netloc.rpartition("@")[2].lower():
        found = f"the server is told the name {seen.host}"
        yield failed("host", found, "pass the Host header on as it came")
    else:
        yield well("host", seen.host)
    if seen.address == local or is_public(seen.address):
        yield well("client address", seen.address)
    elif is_public(local):
        found = f"the server sees us as {seen.address}"
        advice = "pass X-Forwarded-For on and name the proxy in ROOKERY_TRUSTED_PROXIES"
        yield failed("client address", found, advice)
    else:
        found = f"the server sees us as {seen.address}, but we are {local}"
        advice = "right only if that is this network's gateway; else name the proxy as trusted"
        yield warned("client address", found, advice)


def _local_address(place: SplitResult) -> str:
    """Return the address of this machine in a connection to the site."""
    try:
        with open_connection(place) as line:
            return str(line.getsockname()[0])
    except OSError:
        return ""


def check_body_size(place: SplitResult) -> CheckResult:
    """Announce a large body without sending it. A proxy that limits bodies refuses at once."""
    head = (
        f"POST {UPLOAD} HTTP/1.1\r\nHost: {place.netloc.rpartition('@')[2]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {LARGE_BODY}\r\n"
        "Connection: close\r\n\r\n"
    )
    answer = b""
    with contextlib.suppress(OSError), open_connection(place) as line:
        line.settimeout(PATIENCE_SECONDS)
        line.sendall(head.encode())
        answer = line.recv(4096)
    status = answer.split(b" ", 2)[1:2]
    if answer and OURS not in answer.lower() and status == [b"413"]:
        found = f"the proxy refuses a body of {LARGE_BODY // 10**6} MB"
        return failed("upload size", found, "nginx: client_max_body_size 0;")
    return well("upload size", f"a body of {LARGE_BODY // 10**6} MB is not refused")


def check_events(address: str) -> CheckResult:
    """Check that the first line of a stream arrives at once, so that no proxy buffers it."""
    lines = ServerFlags(server=address).transport(seconds=SECONDS)
    began = time.monotonic()
    try:
        next(lines.lines("/api/v1/events?brief=1", "", FIRST_EVENT_SECONDS), b"")
    except CallFailed as problem:
        status = getattr(problem, "status", 0)
        if status == UNAUTHORIZED:
            return warned("events", "the site is closed", "log in first: rookery login")
        advice = "the proxy must not buffer answers (nginx: proxy_buffering off)"
        return failed("events", f"no event within {FIRST_EVENT_SECONDS:g} s ({problem})", advice)
    return well("events", f"the first comes after {1000 * (time.monotonic() - began):.0f} ms")


def check_hidden(answer: HttpAnswer) -> CheckResult:
    if answer.status == OK and b"rookery_" in answer.body:
        advice = "anybody sees how busy the farm is; let the proxy refuse it"
        return warned("metrics", "/metrics is open to the world", advice)
    return well("metrics", "/metrics is not open to the world")


def check_sign_up(answer: HttpAnswer) -> CheckResult:
    if answer.status == OK:
        advice = "approvers decide who gets in; ROOKERY_SIGN_UP=0 switches sign-up off"
        return warned("sign-up", "anybody can sign up", advice)
    return well("sign-up", "closed")
