"""A worker's credentials, a password or a token, are checked in memory, call after call."""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from rookery.server.http.whole_requests import WholeRequest
from rookery.server.identity.users import Scope, Token, TokenWithSecret, User, mint
from rookery.server.worker_api.short_path import ShortCall, short_path_of
from tests.fakes import HandClock
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.wire.worker.farm import ServedFarm, Worker, is_retryable, open_farm

pytestmark = pytest.mark.anyio


@dataclass
class Line:
    """The line to the database, which may be cut; counts queries."""

    is_cut: bool = False
    queries: int = 0

    def query(self) -> None:
        self.queries += 1
        if self.is_cut:
            raise ConnectionResetError


class CutUsers(MemoryUsers):
    """Users at the end of a line."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    async def by_name(self, name: str) -> User | None:
        self._line.query()
        return await super().by_name(name)


class CutTokens(MemoryTokens):
    """Tokens at the end of a line."""

    def __init__(self, users: MemoryUsers, line: Line) -> None:
        super().__init__(users)
        self._line = line

    async def by_digest(self, digest: bytes) -> Token | None:
        self._line.query()
        return await super().by_digest(digest)


@dataclass
class Scene:
    """A farm whose line to the database a test may cut."""

    farm: ServedFarm
    line: Line

    async def mint(self) -> TokenWithSecret:
        """A token for a machine of wanda."""
        now = self.farm.clock.now()
        minted = mint("wanda", frozenset({Scope.WORKER}), now=now, chance=secrets.token_bytes)
        await self.farm.parts.tokens.add(minted.token)
        return minted

    async def play(self, secret: str, key: str = "1a2b3c4d") -> Worker:
        """A worker that has a task."""
        worker = self.farm.worker(key=key)
        worker.password = secret or worker.password
        await worker.request_task()
        return worker

    def is_short(self, worker: Worker) -> bool:
        """Whether a beat is answered at once, in memory."""
        body = json.dumps(worker.body(**worker.ids)).encode()
        request = WholeRequest("/api/beat", {b"host": b"localhost"}, body)
        call = short_path_of(self.farm.site.app).begin(request, "192.0.2.7", "http")
        return isinstance(call, ShortCall) and call.answer is not None

    async def revoke(self, minted: TokenWithSecret) -> None:
        """Revokes a token by the API, as its owner."""
        now = self.farm.clock.now()
        scopes = frozenset({Scope.SUBMIT})
        own = mint("wanda", scopes, now=now, chance=secrets.token_bytes)
        await self.farm.parts.tokens.add(own.token)
        answer = await self.farm.site.browser.delete(
            f"/api/v1/tokens/{minted.token.id}",
            headers={"authorization": f"Bearer {own.secret}"},
        )
        assert answer.status_code == 200, answer.text


@asynccontextmanager
async def _opened() -> AsyncIterator[Scene]:
    line = Line()
    users = CutUsers(line)
    async with open_farm(users, HandClock(), tokens=CutTokens(users, line)) as farm:
        farm.parts.is_outage = lambda error: isinstance(error, ConnectionError)
        await farm.submit()
        yield Scene(farm, line)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with _opened() as opened:
        yield opened


@pytest.mark.parametrize("kind", ["password", "token"])
async def test_rare_beats_are_answered_in_memory_without_a_query(scene: Scene, kind: str) -> None:
    worker = await scene.play((await scene.mint()).secret if kind == "token" else "")
    scene.line.queries = 0
    for _ in range(10):
        scene.farm.clock.move(minutes=10)
        assert scene.is_short(worker)
    assert scene.line.queries == 0


@pytest.mark.parametrize("kind", ["password", "token"])
async def test_beats_go_on_while_the_database_is_away(scene: Scene, kind: str) -> None:
    worker = await scene.play((await scene.mint()).secret if kind == "token" else "")
    scene.line.is_cut = True
    scene.farm.clock.move(minutes=5)
    assert (await worker.beat())["task_alive"]


async def test_an_unknown_token_is_told_to_try_again_while_the_database_is_away(
    scene: Scene,
) -> None:
    worker = scene.farm.worker()
    worker.password = (await scene.mint()).secret
    scene.line.is_cut = True
    answer = await worker.send("request_version", worker.body())
    assert (answer.status_code, is_retryable(answer)) == (503, True)


async def test_a_revoked_token_is_refused_at_once_and_others_stay_known(scene: Scene) -> None:
    one, other = await scene.mint(), await scene.mint()
    gone, stays = await scene.play(one.secret), await scene.play(other.secret, "5e6f7a8b")
    await scene.revoke(one)
    assert (scene.is_short(gone), scene.is_short(stays)) == (False, True)
    answer = await gone.send("beat", gone.body(**gone.ids))
    assert answer.status_code == 401


async def test_a_change_of_another_user_leaves_tokens_known(scene: Scene) -> None:
    worker = await scene.play((await scene.mint()).secret)
    scene.farm.parts.credentials.forget("somebody else")
    assert scene.is_short(worker)


async def test_a_token_of_a_blocked_user_is_refused(scene: Scene) -> None:
    worker = await scene.play((await scene.mint()).secret)
    await scene.farm.change_user(blocked=True)
    scene.farm.parts.credentials.forget("wanda")
    assert not scene.is_short(worker)
    answer = await worker.send("beat", worker.body(**worker.ids))
    assert "blocked" in answer.text
