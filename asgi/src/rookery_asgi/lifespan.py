"""The lifespan protocol: tells the application of start and stop, whatever it makes of it."""

import asyncio
import logging
from typing import Any

from rookery_asgi.errors import StartupFailed
from rookery_asgi.types import App, Message

log = logging.getLogger("rookery_asgi")


class Lifespan:
    """One run of the application's lifespan.

    Outcomes of the start: complete; failed, which stops the server; an exception or a return
    without a message, which means that the application does not take part.
    """

    def __init__(self, app: App, *, mode: str = "auto") -> None:
        """`mode` is "auto", "on" (not taking part is a failure) or "off"."""
        self.state: dict[str, Any] = {}
        self.takes_part = False
        self._app = app
        self._mode = mode
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._started = asyncio.Event()
        self._stopped = asyncio.Event()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when the application is ready; raise StartupFailed when it will not be."""
        if self._mode == "off":
            return
        self._inbox.put_nowait({"type": "lifespan.startup"})
        self._task = asyncio.create_task(self._run())
        await self._started.wait()
        if self._failure is not None:
            await asyncio.wait([self._task], timeout=1.0)
            raise StartupFailed(self._failure or "the application gave no reason")
        if self._mode == "on" and not self.takes_part:
            raise StartupFailed("it does not take part in the lifespan protocol")

    async def stop(self, *, seconds: float) -> bool:
        """Tell the application to shut down; True when it did so cleanly and in time."""
        if self._task is None or not self.takes_part:
            return True
        self._inbox.put_nowait({"type": "lifespan.shutdown"})
        in_time = True
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            in_time = False
            log.error("the application did not shut down within %g s", seconds)
        # what it said is what counts; an application that lingers after that is cut off
        await asyncio.wait([self._task], timeout=1.0)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=1.0)
        return in_time and self._failure is None

    async def _run(self) -> None:
        versions = {"version": "3.0", "spec_version": "2.0"}
        scope = {"type": "lifespan", "asgi": versions, "state": self.state}
        try:
            await self._app(scope, self._inbox.get, self._send)
        except Exception as error:  # noqa: BLE001 - whatever the application raises
            self._raised(error)
        finally:
            self._started.set()
            self._stopped.set()

    def _raised(self, error: Exception) -> None:
        if not self.takes_part:
            log.debug("the application takes no part in lifespan: %r", error)
        elif self._failure is None:
            self._failure = repr(error)
            log.error("the application's lifespan raised", exc_info=error)

    async def _send(self, message: Message) -> None:
        match message["type"]:
            case "lifespan.startup.complete":
                self.takes_part = True
                self._started.set()
            case "lifespan.startup.failed":
                self._failure = message.get("message", "")
                self.takes_part = True
                self._started.set()
            case "lifespan.shutdown.complete":
                self._stopped.set()
            case "lifespan.shutdown.failed":
                self._failure = message.get("message", "")
                log.error("the application's shutdown failed: %s", self._failure)
                self._stopped.set()
            case other:
                raise RuntimeError(f"the lifespan protocol has no message of type {other!r}")
