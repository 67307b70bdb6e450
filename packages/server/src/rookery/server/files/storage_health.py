"""Tracks whether the storage of files answers; while it does not, calls fail at once.

    there --a call fails--> away --a probe succeeds--> there
    there --a call fails, perhaps of itself, and so does a probe--> away

A call that fails has already waited for its time limit. From then on every other call is refused at
once, so that uploads are told to try again and threads stay free, until a probe succeeds in writing
something. A job probes every few seconds. Each change of state is logged once. While the storage
answers, the probe only reads, which detects a failure before a user's call does.

Some calls fail for reasons of their own (`DoubtfulCall`): an upload over a slow uplink, an object
that we may not read. Then a probe writes at once, and only if it fails too, the storage counts as
away.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.boundary.domains import Domain, runs
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import DoubtfulCall
from rookery.server.logs import Log, SilentLog

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class StorageStats:
    """The statistics of a process since its start; calls and failures by operation."""

    is_away: bool
    calls: dict[str, int]
    failures: dict[str, int]


def _need_nothing(_writes: bool) -> None:
    """Do nothing: the probe of a storage that is always available."""


class StorageHealth:
    """The state of the storage. One per process; usable from any thread."""

    def __init__(
        self,
        place: str,
        threads: Threads,
        clock: Clock,
        log: Log | None = None,
        *,
        probe: Callable[[bool], None] = _need_nothing,
    ) -> None:
        """`probe` reads something from the storage, or with True writes to it; it blocks, and
        raises StorageAway."""
        self._place = place
        self._threads = threads
        self._clock = clock
        self._log = log or SilentLog()
        self._probe = probe
        self._lock = Lock()
        self._others: list[StorageHealth] = []
        self._reason = ""
        self._since = 0.0
        self._calls: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    @contextmanager
    def watch(self, call: str) -> Iterator[None]:
        """Wrap a call of the storage: raise StorageAway at once while it is away, and note one that
        the block raises."""
        with self._lock:
            if self._reason:
                raise StorageAway(self._reason)
            self._calls[call] += 1
        try:
            yield
        except DoubtfulCall as error:
            self._note_doubtful(call, str(error))
            raise
        except StorageAway as error:
            self._note_failure(call, str(error))
            raise

    def include(self, other: "StorageHealth") -> None:
        """Probe another place together with this one, and report its trouble."""
        self._others.append(other)

    def describe_trouble(self) -> str:
        """Return a clause for pages and health probes; empty while the storage answers."""
        if not (reason := self._reason):
            return next(filter(None, (each.describe_trouble() for each in self._others)), "")
        minutes = int((self._clock.seconds() - self._since) // 60)
        since = f" for {minutes} min" if minutes else ""
        return f"the storage of files is away{since} ({reason}), uploads and downloads wait for it"

    def stats(self) -> StorageStats:
        with self._lock:
            return StorageStats(bool(self._reason), dict(self._calls), dict(self._failures))

    @runs(Domain.THREAD, "writes to the storage in a thread")
    async def probe(self) -> None:
        """Probe the storage; a job calls this every few seconds."""
        await self._threads.files(self.probe_now)

    def probe_now(self) -> None:
        """Probe the storage; blocks. Storage that was away must prove that it can be written to."""
        for other in self._others:
            other.probe_now()
        is_away = bool(self._reason)
        try:
            self._probe(is_away)
        except StorageAway as error:
            if is_away or not isinstance(error, DoubtfulCall):
                self._note_failure("probe", str(error))
            else:
                self._note_doubtful("probe", str(error))
        else:
            self._note_success()

    def _note_doubtful(self, call: str, reason: str) -> None:
        """Find out by a write whether the storage is away or only this call failed; blocks. Do
        nothing if another call has found out in the meantime."""
        if self._reason:
            self._note_failure(call, self._reason)
            return
        try:
            self._probe(True)
        except StorageAway as error:
            self._note_failure(call, str(error))
        else:
            with self._lock:
                self._failures[call] += 1
            self._log.warning("storage_call_failed", place=self._place, call=call, reason=reason)

    def _note_failure(self, call: str, reason: str) -> None:
        with self._lock:
            self._failures[call] += 1
            was_away = bool(self._reason)
            self._reason = reason[:LONGEST_REASON] or "no reason was given"
            if was_away:
                return
            self._since = self._clock.seconds()
        self._log.error("storage_away", place=self._place, call=call, reason=self._reason)

    def _note_success(self) -> None:
        with self._lock:
            was_away, self._reason = bool(self._reason), ""
        if was_away:
            seconds = round(self._clock.seconds() - self._since, 1)
            self._log.info("storage_back", place=self._place, seconds=seconds)
