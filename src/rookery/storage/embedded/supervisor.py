"""The supervisor process: keeps one postgres running for its owner, and ends with it.

Started by `server` as `supervisor SOURCES BINARIES DATA OWNER`, with standard input as the owner's
pipe; says what happens in lines of JSON on standard output. Standard library only, one thread.
"""

import json
import os
import sys
import time
from pathlib import Path

from rookery.storage.embedded import account, child, cluster, folder, leftovers, sockets
from rookery.storage.embedded.ears import Ears, Stopped
from rookery.storage.embedded.layout import Layout
from rookery.storage.embedded.postmaster import Postmaster
from rookery.storage.embedded.problems import (
    CrashLoop,
    EmbeddedProblem,
    NoSpace,
    StartFailed,
    folder_problem,
)

LOCK_PATIENCE = 10.0
READY_LOOK = 0.02
FAILED_STARTS = 5
LONG_LIFE = 10.0
SHORTEST_DELAY = 0.1
LONGEST_DELAY = 5.0
ASKED_PATIENCE = 5.0
GONE_PATIENCE = 1.5  # whoever killed the owner may start it again at once


def say(event: str, **fields: object) -> None:
    """Tells the owner; nobody may listen any more."""
    line = json.dumps({"event": event, **{k: str(v) for k, v in fields.items()}}) + "\n"
    try:
        os.write(1, line.encode())
    except OSError:
        return


def fail(problem: EmbeddedProblem) -> None:
    say("failed", problem=type(problem).__name__, **problem.fields)


class Supervisor:
    def __init__(self, layout: Layout, binaries: Path, owner: int, ears: Ears) -> None:
        self._layout = layout
        self._binaries = binaries
        self._owner = owner
        self._ears = ears
        self._failures = 0
        self._was_ready = False

    def run(self) -> None:
        layout, pause = self._layout, self._ears.pause
        folder.make(layout.data)
        folder.hold(layout.data, layout.lock, self._owner, patience=LOCK_PATIENCE, pause=pause)
        layout.home.mkdir(mode=0o700, exist_ok=True)
        self._end_leftovers()
        socket = sockets.choose(layout)
        try:
            how = account.settle(layout, (layout.home, socket), self._binaries)
            say("account", how=how)
            self._prepare(socket)
            self._keep(socket)
        finally:
            sockets.forget(layout, socket)

    def _prepare(self, socket: Path) -> None:
        if not cluster.check(self._layout):
            say("initialising", path=self._layout.cluster)
            log, pause = self._layout.log, self._ears.pause
            cluster.make(self._layout, self._binaries, lambda line: child.run(line, log, pause))
        cluster.configure(self._layout, socket)
        sockets.record(self._layout, socket)

    def _keep(self, socket: Path) -> None:
        while True:
            cluster.clear_stale(self._layout, socket)
            postmaster = Postmaster(self._layout, self._binaries)
            try:
                lived = self._accompany(postmaster, socket)
            finally:
                patience = ASKED_PATIENCE if self._ears.asked else GONE_PATIENCE
                postmaster.stop(self._ears.listen, patience=patience)
                self._end_leftovers(raising=False)
            say("down", code=postmaster.ended(), reason=postmaster.last_words())
            self._delay(postmaster, lived)

    def _accompany(self, postmaster: Postmaster, socket: Path) -> float:
        """Returns when postgres has ended: for how long it was ready."""
        while not postmaster.is_ready():
            if postmaster.ended() is not None:
                self._failures += 1
                return 0.0
            self._ears.pause(READY_LOOK)
        ready = time.monotonic()
        self._failures, self._was_ready = 0, True
        say("ready", socket=socket, postmaster=postmaster.pid)
        while postmaster.ended() is None:
            self._ears.pause(60.0)
        return time.monotonic() - ready

    def _delay(self, postmaster: Postmaster, lived: float) -> None:
        """Waits longer after each failure; gives up when it clearly does not start."""
        code, words = postmaster.ended(), postmaster.last_words()
        if not self._was_ready and code is not None and code >= 0:
            raise self._start_problem(words)
        if self._failures >= FAILED_STARTS:
            raise CrashLoop(count=FAILED_STARTS, reason=words, log=self._layout.log)
        if lived < LONG_LIFE:
            self._ears.pause(min(SHORTEST_DELAY * 2**self._failures, LONGEST_DELAY))

    def _start_problem(self, words: str) -> EmbeddedProblem:
        if "No space left" in words:
            return NoSpace(path=self._layout.cluster)
        return StartFailed(reason=words, log=self._layout.log)

    def _end_leftovers(self, *, raising: bool = True) -> None:
        places = (self._layout.cluster, self._layout.unfinished)
        leftovers.end(places, self._ears.pause if raising else self._ears.listen)


def main() -> int:
    binaries, data, owner = sys.argv[1:4]
    layout = Layout(Path(data).absolute())
    try:
        Supervisor(layout, Path(binaries), int(owner), Ears()).run()
    except Stopped:
        return 0
    except EmbeddedProblem as problem:
        fail(problem)
    except OSError as error:
        fail(folder_problem(error, Path(error.filename or data)))
    return 1
