"""Every way in which an application can take part in the lifespan protocol."""

import asyncio
from typing import Any

import pytest

from rookery_asgi.errors import StartupFailed
from rookery_asgi.lifespan import Lifespan
from rookery_asgi.types import App, Receive, Scope, Send
from tests.machine import play


def begin(app: App, mode: str = "auto", seconds: float = 60) -> tuple[Lifespan | None, str]:
    found: list[Any] = []

    async def story() -> None:
        lifespan = Lifespan(app, mode=mode)
        try:
            await lifespan.start()
        except StartupFailed as error:
            found.append((None, str(error)))
        else:
            found.append((lifespan, str(await lifespan.stop(seconds=seconds))))

    play(story)
    result: tuple[Lifespan | None, str] = found[0]
    return result


async def proper(scope: Scope, receive: Receive, send: Send) -> None:
    assert (await receive())["type"] == "lifespan.startup"
    scope["state"]["answer"] = 42
    await send({"type": "lifespan.startup.complete"})
    assert (await receive())["type"] == "lifespan.shutdown"
    await send({"type": "lifespan.shutdown.complete"})


def test_a_proper_application_starts_and_stops() -> None:
    lifespan, clean = begin(proper)
    assert lifespan is not None
    assert lifespan.takes_part
    assert lifespan.state == {"answer": 42}
    assert clean == "True"


def test_a_failed_start_stops_the_server_with_its_message() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    assert "no database" in begin(app)[1]


def test_an_exception_or_a_silent_return_means_taking_no_part() -> None:
    async def raises(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError

    async def returns(scope: Scope, receive: Receive, send: Send) -> None:
        return

    for app in (raises, returns):
        lifespan, clean = begin(app)
        assert lifespan is not None
        assert not lifespan.takes_part
        assert clean == "True"
        assert "does not take part" in begin(app, "on")[1]


def test_lifespan_can_be_off() -> None:
    called: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        called.append(scope)

    begin(app, "off")
    assert called == []


def test_a_shutdown_that_hangs_is_given_up() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await asyncio.sleep(3600)

    assert begin(app, seconds=0.01)[1] == "False"


def test_a_shutdown_that_fails_or_raises_is_not_clean() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "sorry"})

    async def raises(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise LookupError

    assert begin(fails)[1] == "False"
    assert begin(raises)[1] == "False"


def test_an_unknown_message_raises_in_the_application() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(RuntimeError, match="no message"):
            await send({"type": "lifespan.other"})
        seen.append("raised")

    begin(app)
    assert seen == ["raised"]
