"""Makes engines from orders."""

from rookery.boundary.offload import Threads
from rookery.worker.engines.installed import installed
from rookery.worker.engines.order import BuildFailed, Built, Order


class Workshop:
    """The place of one worker where engines are made and kept."""

    def __init__(self) -> None:
        self._threads = Threads()

    async def make(self, order: Order) -> Built:
        """A program that plays as ordered; raises BuildFailed."""
        if order.record.recipe.kind != "installed" or order.binary:
            raise BuildFailed(f"{order.record.name} can't be built here.")
        return await self._threads.io(installed, order)
