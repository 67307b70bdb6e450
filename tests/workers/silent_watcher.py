"""A worker's watcher for tests that look at neither what it says nor what it shows."""

from rookery.worker.stopping import WorkerStatus


class SilentWatcher:
    """A watcher that keeps and shows nothing."""

    def say(self, sentence: str) -> None:
        """It is not kept."""

    def show(self, status: WorkerStatus) -> None:
        """It is not shown."""
