"""What the supervisor hears while it waits: its owner's pipe, a request to stop, a child's end."""

import os
import select
import signal
from types import FrameType


class Stopped(Exception):
    """The owner asked for the end, or is gone."""


class Ears:
    """Waits without missing anything; one object, one thread, standard input as the pipe."""

    def __init__(self) -> None:
        self.asked = False  # in words or by SIGTERM
        self.gone = False  # end of file without a word: the owner was killed
        self._wake, writer = os.pipe()
        for descriptor in (0, self._wake, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # A handler, not SIG_IGN, because what is ignored stays ignored in PostgreSQL.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _hear_only)
        signal.signal(signal.SIGTERM, self._on_terminate)
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    @property
    def stopping(self) -> bool:
        return self.asked or self.gone

    def pause(self, seconds: float) -> None:
        """Waits until something happens, at most so long; raises when it is time to stop."""
        self.listen(seconds)
        if self.stopping:
            raise Stopped

    def listen(self, seconds: float) -> None:
        for descriptor, _ in self._poll.poll(seconds * 1000):
            words = _read(descriptor)
            if descriptor == 0:
                self._on_words(words)

    def _on_words(self, words: bytes) -> None:
        self.asked = self.asked or b"stop" in words
        if not words:
            self.gone = not self.asked
            self._poll.unregister(0)

    def _on_terminate(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def _read(descriptor: int) -> bytes:
    """What there is; nothing at the end of the file, which a dead owner's reset is as well."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def _hear_only(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor has noted it."""
