"""Whether the engine that comes along starts on this machine, told before games are awaited."""

from rookery.boundary.offload import Threads
from rookery.protocol.known_engines import FLEDGLING
from rookery.worker.engines.installed import installed
from rookery.worker.engines.introduction import NoIntroduction, introduce
from rookery.worker.engines.order import Order
from rookery.worker.engines.sandbox.sandbox import Sandbox


async def trouble(sandbox: Sandbox, threads: Threads) -> str:
    """Why it does not start; empty where it does."""
    built = await threads.io(installed, Order(FLEDGLING, "", ""))
    try:
        await introduce(sandbox.playing(built), threads, environment={})
    except NoIntroduction as failed:
        return told(failed)
    return ""


def told(failed: NoIntroduction) -> str:
    """With the last of its own words, such as which module is missing."""
    last = failed.said.rstrip().rpartition("\n")[2].removeprefix("! ")
    return f"the bundled engine does not start here: {last or failed}"
