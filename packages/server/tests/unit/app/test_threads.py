"""The threads of a serving process."""

from threading import Event

import anyio
import pytest

from rookery.server.app.build import new_process
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings
from tests.eventually import eventually

pytestmark = pytest.mark.anyio


async def test_blocking_work_has_the_threads_of_the_settings() -> None:
    settings = Settings.read({"ROOKERY_THREADPOOL_TOKENS": "8"})
    threads, release = new_process(settings, SilentLog()).threads, Event()
    async with anyio.create_task_group() as group:
        for _ in range(9):
            group.start_soon(threads.io, release.wait)
        await eventually(lambda: threads.stats()[0].running + threads.stats()[0].waiting == 9)
        found = threads.stats()[0]
        release.set()
    assert (found.running, found.waiting) == (8, 1)
