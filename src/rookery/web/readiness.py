"""Whether this process can do its work right now, asked by load balancers."""

import asyncio
from collections.abc import Awaitable, Callable

from rookery.clock import Clock
from rookery.service.disk import Disk, Room
from rookery.web.lifecycle import Lifecycle, Phase

ANSWER_SECONDS = 2.0
# The database is asked at most this often, however many probes there are.
REMEMBERED_SECONDS = 0.5


class Readiness:
    """Ready means: started, not stopping, room on the disk, and the database answers."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        database_answers: Callable[[], Awaitable[None]],
        disk: Disk,
        clock: Clock,
    ) -> None:
        self._lifecycle = lifecycle
        self._database_answers = database_answers
        self._disk = disk
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._asked = float("-inf")
        self._reason = ""

    async def reason_against(self) -> str:
        """Why not, in words; empty when ready."""
        if self._lifecycle.phase is not Phase.READY:
            return f"the server is {self._lifecycle.phase.value}"
        async with self._one_at_a_time:
            if self._clock.seconds() - self._asked >= REMEMBERED_SECONDS:
                self._reason = await self._ask()
                self._asked = self._clock.seconds()
        return self._reason

    @property
    def warning(self) -> str:
        """What is going to be a reason unless somebody does something."""
        return self._disk.trouble()

    async def _ask(self) -> str:
        await self._disk.look()
        if self._disk.room is Room.FULL:
            return self._disk.trouble()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database_answers()
        except TimeoutError:
            return "the database does not answer"
        except Exception as error:  # noqa: BLE001 - whatever it is, it means not ready
            return f"the database can't be used: {type(error).__name__}"
        return ""
