"""What needs the primary works at every instance: a secondary sends it on and gives the answer."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx
import msgspec
import pytest

from rookery.server.http import forwarding
from rookery.server.http.faults import NotPrimary
from rookery.server.http.forwarding import Forwarder, OutgoingCall
from rookery.server.http.internal_calls import (
    FORM,
    FORWARDED,
    ForwardedCall,
    InternalKey,
    SignedRequest,
    digest_credentials,
)
from rookery.server.http.session import COOKIE, SessionData
from tests.fakes import HandClock, RecordedLog
from tests.people import BORIS, OLGA
from tests.ports import kept_port
from tests.submissions import SPRT, body
from tests.twins.cutting import cutting
from tests.twins.instances import SECONDARY_HOST, SharedLease, open_secondary, served
from tests.twins.sites import MemorySite, OpenSite
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

OWN = "http://127.0.0.1:8000"
CALL = OutgoingCall("POST", b"/x", b"a", b"", b"", ForwardedCall("1", "", secure=False), 1.0)


def signed(path: str, headers: Mapping[str, str] | None = None) -> SignedRequest:
    """A request to the primary, as its header is made for it."""
    pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return SignedRequest("POST", path.encode(), b"localhost", digest_credentials(pairs))


def early_log(site: MemorySite) -> RecordedLog:
    """What the parts of a site write that were made with it."""
    assert isinstance(site.process.log, RecordedLog)
    return site.process.log


@dataclass(frozen=True, slots=True)
class Instances:
    """A primary, and a secondary beside it."""

    primary: Api
    secondary: OpenSite
    lease: SharedLease

    async def post(self, path: str, content: object = None, **headers: str) -> httpx.Response:
        """Sent to the secondary, by an approver."""
        own = dict(await self.primary.headers(BORIS))
        return await self.secondary.browser.post(path, json=content or {}, headers=own | headers)

    def told(self, event: str) -> dict[str, object]:
        """What the primary wrote into its log."""
        return self.primary.log.fields(event)


@pytest.fixture
async def instances() -> AsyncIterator[Instances]:
    async with open_instances() as opened:
        yield opened


@asynccontextmanager
async def open_instances() -> AsyncIterator[Instances]:
    async with open_api() as primary, served(primary.app, primary.site) as address:
        lease = SharedLease(address)
        async with open_secondary(lease, primary.clock) as secondary:
            yield Instances(primary, secondary, lease)


async def test_a_run_is_submitted_and_stopped_through_a_secondary(instances: Instances) -> None:
    made = await instances.post("/api/v1/runs", body(sprt=SPRT))
    assert made.status_code == 201, made.text
    run = made.json()["id"]
    stopped = await instances.post(f"/api/v1/runs/{run}/stop")
    assert stopped.status_code == 200
    assert instances.primary.site.store.rows.runs[run].status.finished


async def test_the_answer_is_the_primary_s_own(instances: Instances) -> None:
    run = await instances.primary.submitted()
    path, headers = f"/api/v1/runs/{run}/approve", dict(await instances.primary.headers(OLGA))
    direct = await instances.primary.visitor.post(path, headers=headers)
    through = await instances.secondary.browser.post(path, headers=headers)
    assert through.status_code == direct.status_code == 403
    assert through.json()["error"] == direct.json()["error"]
    assert sorted(through.headers) == sorted(direct.headers)


async def test_a_request_keeps_its_id_and_its_client(instances: Instances) -> None:
    answer = await instances.post("/api/v1/runs/none/stop")
    assert answer.status_code == 404
    refused = instances.told("request_refused")
    assert refused["request"] == answer.headers["x-request-id"]
    assert refused["client"] == "192.0.2.7"


async def test_what_strangers_say_in_our_headers_is_not_sent_on(instances: Instances) -> None:
    forged = {
        "x-forwarded-for": "10.1.1.1",
        "x-rookery-forwarded": "1 me 10.1.1.1 https - first 00",
        "x-real-ip": "10.1.1.1",
    }
    answer = await instances.post("/api/v1/runs/none/stop", **forged)
    assert answer.status_code == 404
    assert instances.told("request_refused")["client"] == "192.0.2.7"


async def test_the_primary_believes_no_header_that_another_key_made(instances: Instances) -> None:
    other = InternalKey(b"another key", instances.primary.clock)
    path = "/api/v1/runs/none/stop"
    said = ForwardedCall("me", "10.1.1.1", secure=True)
    value = other.sign(signed(path), said, b"").decode()
    await instances.primary.visitor.post(path, headers={FORWARDED.decode(): value})
    assert instances.told("request_refused")["client"] == "192.0.2.7"


async def test_a_header_of_ours_counts_for_its_own_address_alone(instances: Instances) -> None:
    key = instances.primary.site.internal_key
    said = ForwardedCall("me", "10.1.1.1", secure=True)
    value = key.sign(signed("/api/v1/runs/one/stop"), said, b"").decode()
    for path, client in (("one", "10.1.1.1"), ("none", "192.0.2.7")):
        await instances.primary.visitor.post(
            f"/api/v1/runs/{path}/stop", headers={FORWARDED.decode(): value}
        )
        assert instances.told("request_refused")["client"] == client


async def test_a_header_of_ours_counts_for_its_own_body_alone(instances: Instances) -> None:
    site = instances.primary.site
    site.internal_key.note_form(FORM)
    path, said = "/api/v1/runs", ForwardedCall("me", "10.1.1.1", secure=True)
    sent, other = (msgspec.json.encode(body(sprt=SPRT, new_tag=each)) for each in ("one", "two"))
    own = dict(await instances.primary.headers(BORIS))
    value = site.internal_key.sign(signed(path, own), said, sent).decode()
    headers = own | {FORWARDED.decode(): value}
    refused = await instances.primary.visitor.post(path, content=other, headers=headers)
    assert refused.status_code == 400
    assert "not the one" in refused.json()["error"]
    assert not site.store.rows.runs
    taken = await instances.primary.visitor.post(path, content=sent, headers=headers)
    assert taken.status_code == 201


async def test_a_header_of_ours_counts_for_its_own_token_alone(instances: Instances) -> None:
    key, path = instances.primary.site.internal_key, "/api/v1/runs/none/stop"
    key.note_form(FORM)
    recorded = dict(await instances.primary.headers(BORIS))
    said = ForwardedCall("me", "10.1.1.1", secure=True)
    value = key.sign(signed(path, recorded), said, b"").decode()
    for shown, client in (
        (recorded, "10.1.1.1"),
        (dict(await instances.primary.headers(OLGA)), "192.0.2.7"),
        (recorded | {"cookie": "a=1"}, "192.0.2.7"),
    ):
        await instances.primary.visitor.post(path, headers=shown | {FORWARDED.decode(): value})
        assert instances.told("request_refused")["client"] == client


@pytest.mark.parametrize("seconds", [600, -600])
async def test_with_clocks_apart_a_secondary_looks_on_and_nothing_is_done_in_its_name(
    monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.3)
    clock = HandClock()
    async with open_api() as primary, served(primary.app, primary.site) as address:
        lease = SharedLease(address)
        async with open_secondary(lease, clock) as secondary:
            instances = Instances(primary, secondary, lease)
            clock.move(seconds=seconds)
            refused = await instances.post("/api/v1/runs", body(sprt=SPRT))
            assert (refused.status_code, "primary" in refused.json()["error"]) == (503, True)
            worker = await secondary.browser.post("/api/beat", content=b"{}")
            assert (worker.status_code, worker.headers["content-type"][:10]) == (503, "text/plain")
            assert not primary.site.store.rows.runs
            assert early_log(primary.site).events().count("forwarded_call_too_old") == 1
            told = early_log(secondary.parts).fields("clocks_apart")
            assert told["their_clock"] == primary.clock.now().isoformat()
            assert told["our_clock"] == clock.now().isoformat()
            clock.move(seconds=-seconds)
            assert (await instances.post("/api/v1/runs", body(sprt=SPRT))).status_code == 201


async def test_nothing_is_forwarded_twice(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two secondaries that take one another for the primary."""
    instances.primary.site.rules.primary = False
    instances.primary.site.forwarder.own_address = "http://192.0.2.201:1"
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.3)
    answer = await instances.post("/api/v1/runs/none/stop")
    assert answer.status_code == 503
    assert instances.primary.site.forwarder.stats().sent == 0


async def test_a_name_that_only_the_secondary_has_is_good_for_commands_too(
    instances: Instances,
) -> None:
    headers = {**await instances.primary.headers(BORIS), "host": SECONDARY_HOST}
    answer = await instances.secondary.browser.post("/api/v1/runs/none/stop", headers=headers)
    assert answer.status_code == 404
    answer = await instances.primary.visitor.post("/api/v1/runs/none/stop", headers=headers)
    assert answer.status_code == 400


async def test_a_call_waits_for_a_primary_and_is_answered_by_it(instances: Instances) -> None:
    address = instances.lease.row.address
    instances.lease.pass_to("http://127.0.0.1:1", live=False)
    waiting = asyncio.ensure_future(instances.post("/api/v1/runs", body(sprt=SPRT)))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    instances.lease.pass_to(address)
    assert (await waiting).status_code == 201


async def test_a_primary_that_names_our_address_is_told_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As servers on two machines do that listen on a loopback address each."""
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.3)
    log, lease = RecordedLog(), SharedLease(OWN)
    key = InternalKey(b"a key", HandClock())
    forwarder = Forwarder(key, log, is_ready=lambda: False, read_lease=lease.read)
    forwarder.own_address, forwarder.own_name = OWN, "secondary"
    async with aclosing(forwarder):
        for _ in range(2):
            with pytest.raises(NotPrimary):
                await forwarder.ask(CALL)
    assert log.events() == ["primary_at_own_address"]
    assert log.fields("primary_at_own_address")["address"] == OWN


async def test_a_call_is_carried_out_here_by_who_becomes_primary(instances: Instances) -> None:
    instances.lease.pass_to("", live=False)
    waiting = asyncio.ensure_future(instances.secondary.browser.post("/api/v1/runs"))
    await asyncio.sleep(0.2)
    instances.secondary.parts.rules.primary = True
    answer = await waiting
    assert answer.status_code == 401
    assert instances.secondary.log.events()[-1] == "request_refused"


async def test_without_a_primary_people_and_programs_are_told_in_their_way(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.3)
    with kept_port() as port:
        instances.lease.pass_to(f"http://127.0.0.1:{port}")
    program = await instances.post("/api/v1/runs/none/stop")
    assert (program.status_code, program.headers["retry-after"]) == (503, "5")
    assert "primary" in program.json()["error"]
    person = await instances.secondary.browser.post("/runs/none/stop")
    assert person.status_code == 503
    assert "Try again in a moment" in person.text
    worker = await instances.secondary.browser.post("/api/request_version", content=b"{}")
    assert worker.status_code == 503
    assert worker.headers["content-type"].startswith("text/plain")


async def test_without_the_database_nobody_waits_for_a_primary(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 600.0)
    instances.lease.is_away = True
    async with asyncio.timeout(60):
        program = await instances.post("/api/v1/runs/none/stop")
        person = await instances.secondary.browser.post("/runs/none/stop")
        worker = await instances.secondary.browser.post("/api/request_version", content=b"{}")
    for answer in (program, person, worker):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "The database can" in answer.text
    assert worker.headers["content-type"].startswith("text/plain")


async def test_a_call_after_an_outage_waits_for_a_primary_again(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "IDLE_SECONDS", 0.2)
    instances.lease.is_away = True
    assert (await instances.post("/api/v1/runs/none/stop")).status_code == 503
    watching = instances.secondary.parts.forwarder._watching
    assert watching is not None
    await watching
    instances.lease.is_away = False
    assert (await instances.post("/api/v1/runs", body(sprt=SPRT))).status_code == 201


async def test_what_changes_no_run_is_done_where_it_was_sent(instances: Instances) -> None:
    answer = await instances.secondary.browser.post("/api/v1/tokens", json={})
    assert answer.status_code in (400, 401)
    assert instances.secondary.parts.forwarder.stats().sent == 0


async def test_a_command_with_a_key_is_carried_out_once(instances: Instances) -> None:
    headers = dict(await instances.primary.headers(BORIS))
    keys = ("my first", "my first", "another")
    first, again, other = [
        await instances.post(
            "/api/v1/runs", body(sprt=SPRT), **headers, **{"idempotency-key": each}
        )
        for each in keys
    ]
    assert first.json()["id"] == again.json()["id"] != other.json()["id"]
    refused = await instances.post("/api/v1/runs", **headers, **{"idempotency-key": "x" * 201})
    assert refused.status_code == 400


async def test_a_key_with_another_body_is_refused_and_does_nothing(instances: Instances) -> None:
    key = dict(await instances.primary.headers(BORIS)) | {"idempotency-key": "mine"}
    first = await instances.post("/api/v1/runs", body(sprt=SPRT), **key)
    assert first.status_code == 201, first.text
    other = await instances.post("/api/v1/runs", body(sprt=SPRT, num_games=2000), **key)
    assert other.status_code == 422, other.text
    assert "with another body" in other.json()["error"]
    again = await instances.post("/api/v1/runs", body(sprt=SPRT), **key)
    assert again.json()["id"] == first.json()["id"]
    assert list(instances.primary.site.store.rows.runs) == [first.json()["id"]]


async def test_a_key_of_another_person_is_another_key(instances: Instances) -> None:
    headers = {"idempotency-key": "same"}
    mine = await instances.post("/api/v1/runs", body(sprt=SPRT), **headers)
    theirs = await instances.secondary.browser.post(
        "/api/v1/runs",
        json=body(sprt=SPRT),
        headers=dict(await instances.primary.headers(OLGA)) | headers,
    )
    assert mine.json()["id"] != theirs.json()["id"]


async def test_an_answer_that_was_lost_is_asked_for_again(instances: Instances) -> None:
    async with cutting(instances.lease, answers=1) as cut:
        made = await instances.post("/api/v1/runs", body(sprt=SPRT))
        assert made.status_code == 201, made.text
        assert cut.lost == 1
    assert list(instances.primary.site.store.rows.runs) == [made.json()["id"]]


class Pouring:
    """A large body, which counts the pieces that are taken of it."""

    def __init__(self) -> None:
        self.pieces = 0

    async def pour(self) -> AsyncIterator[bytes]:
        for _ in range(16):
            self.pieces += 1
            yield b" " * 64 * 1024


@pytest.mark.parametrize("key", [{}, {"idempotency-key": "one"}])
@pytest.mark.parametrize(
    ("shown", "status"),
    [({"authorization": "Bearer rk_guessed"}, 401), ({"cookie": f"{COOKIE}=guessed"}, 413)],
)
async def test_nothing_large_is_read_of_who_only_claims_to_be_known(
    instances: Instances, shown: dict[str, str], status: int, key: dict[str, str]
) -> None:
    body = Pouring()
    answer = await instances.secondary.browser.post(
        "/api/v1/runs", content=body.pour(), headers=shown | key
    )
    assert (answer.status_code, body.pieces < 4) == (status, True)


async def test_nothing_large_is_read_for_its_digest_of_who_is_not_known(
    instances: Instances,
) -> None:
    body, shown = Pouring(), {"authorization": "Bearer rk_guessed", "idempotency-key": "one"}
    answer = await instances.primary.visitor.post(
        "/api/v1/runs", content=body.pour(), headers=shown
    )
    assert (answer.status_code, body.pieces < 4) == (401, True)


async def test_a_large_command_of_who_is_known_is_sent_on_whole(instances: Instances) -> None:
    """The primary says what it thinks of a session without its token."""
    cookie = instances.secondary.parts.cookies.close_within(SessionData(user="boris"))
    body, shown = Pouring(), {"cookie": f"{COOKIE}={cookie}"}
    answer = await instances.secondary.browser.post(
        "/api/v1/runs", content=body.pour(), headers=shown
    )
    assert (answer.status_code, body.pieces) == (401, 16)
    assert instances.told("request_refused")["request"] == answer.headers["x-request-id"]
