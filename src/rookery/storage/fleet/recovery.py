"""What a new primary puts right before it starts: rows that a crash kept behind, and sums that are
not what the tasks say (which would be a fault of ours, so it is written down)."""

from collections.abc import Sequence
from dataclasses import replace

from rookery.core.run import Run
from rookery.core.tally import Tally
from rookery.service.fleet.ports import Correction
from rookery.storage.fence import Fence
from rookery.storage.fleet.codecs import whole_run
from rookery.storage.log import Log, quiet
from rookery.storage.queries import Queries

SLICE_ROWS = 5_000


class Recovery:
    """Writes behind the fence of the new primary, before its group commit does."""

    def __init__(self, fence: Fence, queries: Queries, *, log: Log = quiet) -> None:
        self._fence = fence
        self._queries = queries
        self._log = log

    async def close_rest(self) -> None:
        """Ends the tasks of runs that ended."""
        closed = SLICE_ROWS
        while closed == SLICE_ROWS:
            async with self._fence.write() as connection:
                said = await connection.execute(self._queries["tasks_close_rest"], SLICE_ROWS)
                closed = int(said.rpartition(" ")[2])
            if closed:
                self._log("closings_completed", tasks=closed)

    async def correct(self, runs: Sequence[tuple[Run, Correction]], sequence: int) -> None:
        """Stores the sums as they were counted."""
        rows = [whole_run(run, sequence, 0) for run, _ in runs]
        async with self._fence.write() as connection:
            await connection.executemany(self._queries["runs_put"], rows)
        for _, wrong in runs:
            self._log("sums_corrected", run=wrong.run, stored=wrong.stored, counted=wrong.counted)


def corrected(run: Run, counted: Tally) -> Run:
    """The run with its true sums, judged by them."""
    if counted.results == run.tally.results:
        return run.with_tally(counted)
    return replace(run, tally=counted, kind=run.kind.rejudged(counted.results))
