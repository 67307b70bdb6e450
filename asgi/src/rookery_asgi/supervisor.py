"""Several worker processes, or one that is replaced when files change.

The supervisor binds the sockets and keeps them; a worker inherits them and begins to listen when
its application is ready. A worker that dies is replaced and finds its backlog as it was. One that
is to be renewed, at SIGHUP or because it has served enough, goes when its successor serves.
"""

import logging
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

from rookery_asgi import sockets
from rookery_asgi.board import Board
from rookery_asgi.notify import Notifier
from rookery_asgi.options import Options
from rookery_asgi.recycling import draw_bounds
from rookery_asgi.sockets import Listener
from rookery_asgi.worker import YOUNG_SECONDS, Command, Worker

log = logging.getLogger("rookery_asgi")

POLL_SECONDS = 0.1
RETRY_SECONDS = 5.0
"""After a start that failed while others serve."""
HOPELESS = frozenset({2, 3})
"""Exit statuses that trying again at once won't change."""


@dataclass(slots=True)
class Place:
    """Sockets, and the worker that serves them at present."""

    listeners: Sequence[Listener]
    worker: Worker
    failed: Worker | None = None
    """One that could not start, and is tried again after a while."""
    again_at: float = 0.0


class Supervisor:
    """Keeps the workers alive until it is told to stop."""

    def __init__(
        self,
        options: Options,
        command: Command,
        changed: Callable[[], bool],
        notifier: Notifier,
    ) -> None:
        """`command` gives a worker's command line; `changed` says whether files have changed."""
        count = 1 if options.reload else options.workers
        self._options = options
        self._command = command
        self._changed = changed
        self._notifier = notifier
        # a worker, its successor, and those that still end their requests
        self._board = Board.create(4 * count + 16)
        self._free = list(range(1, self._board.slots))
        self._sockets = bind_workers(options, count)
        self._places: list[Place] = []
        self._leaving: list[tuple[Worker, float]] = []
        self._due: list[Place] = []
        self._coming: tuple[Place, Worker] | None = None
        self._rest_until = 0.0
        self._hangup = self._stopping = self._said_ready = False
        self._failed: int | None = None
        self._grace = options.timeout_graceful_shutdown + options.timeout_lifespan + 5.0

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_hangup)
        self._places = [Place(listeners, self._start(listeners)) for listeners in self._sockets]
        while not self._stopping:
            time.sleep(POLL_SECONDS)
            self._look()
        self._stop_all()
        return self._failed or 0

    def _start(self, listeners: Sequence[Listener]) -> Worker:
        bounds = draw_bounds(self._options)
        return Worker(self._command, listeners, self._board, self._free.pop(0), bounds)

    def _forget(self, worker: Worker) -> None:
        """Its process has ended: its slot is free, its counts are kept."""
        self._board.retire(worker.slot)
        self._free.append(worker.slot)

    def _look(self) -> None:
        self._notifier.alive()
        if self._options.reload and self._changed():
            self._restart(self._places[0])
        for place in self._places:
            if place.worker.status is not None and not self._stopping:
                self._replace(place)
        self._renew()
        self._see_off()
        self._say_ready()

    def _restart(self, place: Place) -> None:
        log.info("files changed: restarting")
        place.worker.signal(signal.SIGTERM)
        self._wait_for(place.worker)
        self._forget(place.worker)
        place.worker = self._start(place.listeners)

    # --- workers that die

    def _replace(self, place: Place) -> None:
        worker, status = place.worker, place.worker.status
        if self._coming is not None and self._coming[0] is place:
            self._forget(worker)  # its successor is on the way already
            place.worker, self._coming = self._coming[1], None
            return
        if status in HOPELESS and not self._options.reload and not worker.is_ready():
            if not self._anyone_serves():
                self._failed = status
                self._stopping = True
                return
            if self._rests(place):
                return
        if worker.is_young() or (self._options.reload and status != 0):
            time.sleep(YOUNG_SECONDS)
            if self._options.reload and not self._changed():
                return
        log.error("worker %d ended with status %s: replaced", worker.pid, status)
        self._forget(worker)
        place.worker = self._start(place.listeners)

    def _anyone_serves(self) -> bool:
        workers = [place.worker for place in self._places]
        return any(worker.status is None and worker.is_ready() for worker in workers)

    def _rests(self, place: Place) -> bool:
        """What can't start now may start later: those that serve are not given up for it."""
        if place.failed is not place.worker:
            place.failed = place.worker
            place.again_at = time.monotonic() + RETRY_SECONDS
            log.error("worker %d could not start: tried again", place.worker.pid)
        return time.monotonic() < place.again_at

    # --- workers that are renewed, one at a time

    def _renew(self) -> None:
        if self._hangup:
            self._hangup = False
            self._rest_until = 0.0
            self._due = list(self._places)
            self._notifier.reloading()
            log.info("renewing the workers")
        if self._coming is not None:
            self._follow(*self._coming)
        elif self._free and time.monotonic() >= self._rest_until:
            self._begin_next()

    def _begin_next(self) -> None:
        place = self._due.pop(0) if self._due else self._find_outlived()
        if place is not None:
            self._coming = place, self._start(place.listeners)

    def _find_outlived(self) -> Place | None:
        for place in self._places:
            why = place.worker.why_replace()
            if why is not None and not place.worker.is_young():
                log.info("worker %d is renewed: %s", place.worker.pid, why)
                return place
        return None

    def _follow(self, place: Place, worker: Worker) -> None:
        if worker.status is not None:
            log.error("a new worker ended with status %s: the old ones go on", worker.status)
            self._forget(worker)
            self._due.clear()
            self._rest_until = time.monotonic() + RETRY_SECONDS
        elif worker.is_ready():
            log.info("worker %d takes the place of %d", worker.pid, place.worker.pid)
            place.worker.signal(signal.SIGTERM)
            self._leaving.append((place.worker, time.monotonic() + self._grace))
            place.worker = worker
        else:
            return
        self._coming = None
        self._said_ready = self._said_ready and bool(self._due)

    def _see_off(self) -> None:
        for worker, deadline in self._leaving[:]:
            if worker.status is None and time.monotonic() > deadline:
                log.error("worker %d did not stop and was killed", worker.pid)
                worker.kill()
            if worker.status is not None:
                self._leaving.remove((worker, deadline))
                self._forget(worker)

    def _say_ready(self) -> None:
        if not self._said_ready and all(place.worker.is_ready() for place in self._places):
            self._said_ready = True
            self._notifier.ready(f"{len(self._places)} workers")

    # --- the end

    def _all(self) -> list[Worker]:
        coming = [self._coming[1]] if self._coming is not None else []
        leaving = [worker for worker, _ in self._leaving]
        return [*(place.worker for place in self._places), *coming, *leaving]

    def _stop_all(self) -> None:
        self._notifier.stopping()
        already = [worker for worker, _ in self._leaving]
        for worker in self._all():
            if worker not in already:  # a second signal would cut its requests short
                worker.signal(signal.SIGTERM)
        for worker in self._all():
            self._wait_for(worker)
        for listener in {id(one): one for some in self._sockets for one in some}.values():
            listener.close()

    def _wait_for(self, worker: Worker) -> None:
        if not worker.has_ended(seconds=self._grace):
            log.error("worker %d did not stop and was killed", worker.pid)
            worker.kill()

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        if self._stopping:
            for worker in self._all():
                worker.signal(signal.SIGTERM)
        self._stopping = True

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        self._hangup = True


def bind_workers(options: Options, count: int) -> list[list[Listener]]:
    """The sockets of each worker: its own on the same addresses, between which the kernel shares
    out the clients, or the same for all. What is not TCP can only be the same."""
    own = count > 1 and not options.shared_socket
    first = sockets.bind(options, shared=own)
    if not own:
        return [first] * count
    return [first, *([sockets.bind_again(one) for one in first] for _ in range(count - 1))]
