"""Nobody waits in a queue for a task (pitfall 34), nor for the passwords of strangers."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from rookery.server.identity.users import Scope, mint
from tests.wire.worker.farm import ServedFarm

pytestmark = pytest.mark.anyio


@contextmanager
def full_gate(farm: ServedFarm) -> Iterator[None]:
    gate = farm.parts.task_gate
    with ExitStack() as inside:
        for _ in range(gate.stats().size):
            inside.enter_context(gate.enter())
        yield


async def test_a_full_gate_is_told_at_once(farm: ServedFarm) -> None:
    with full_gate(farm):
        answer = await farm.worker().request_task()
    assert (answer["task_waiting"], "busy" in answer["info"]) == (False, True)


async def test_a_full_gate_lets_in_whose_password_was_right_before(farm: ServedFarm) -> None:
    worker = farm.worker()
    await worker.version()
    farm.parts.credentials.forget("wanda")
    with full_gate(farm):
        assert "info" not in await worker.request_task()


async def test_a_full_gate_lets_in_a_token_which_needs_no_hashing(farm: ServedFarm) -> None:
    scopes, now = frozenset({Scope.WORKER}), farm.clock.now()
    minted = mint("wanda", scopes, now=now, chance=secrets.token_bytes)
    await farm.parts.tokens.add(minted.token)
    worker = farm.worker()
    worker.password = minted.secret
    with full_gate(farm):
        assert "info" not in await worker.request_task()
