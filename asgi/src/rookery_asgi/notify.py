"""Tells the service manager how the server is, as sd_notify does: by NOTIFY_SOCKET, no library."""

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping


class Notifier:
    """Where there is no service manager, nothing is said."""

    def __init__(self, address: str = "", watchdog_seconds: float = 0.0) -> None:
        """A leading @ is the abstract namespace; 0 seconds mean that nobody watches."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watched = watchdog_seconds > 0
        self._every = watchdog_seconds / 2
        self._last = time.monotonic()

    def say(self, *lines: str) -> None:
        """Send; a manager that does not listen is no reason to stop."""
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock,
        ):
            sock.sendto("\n".join(lines).encode(), self._address)

    def ready(self, status: str) -> None:
        """Clients are served."""
        self.say("READY=1", f"STATUS={status}", f"MAINPID={os.getpid()}")

    def reloading(self) -> None:
        """Something is being renewed; `ready` says when it has been."""
        self.say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The stop has begun."""
        self.say("STOPPING=1")

    def alive(self) -> None:
        """Called often; says so as often as the manager wants to hear it."""
        if self.watched and time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            self.say("WATCHDOG=1")


def take_notifier(variables: MutableMapping[str, str]) -> Notifier:
    """The notifier of this process; its children get none."""
    address = variables.pop("NOTIFY_SOCKET", "")
    pid, period = variables.pop("WATCHDOG_PID", ""), variables.pop("WATCHDOG_USEC", "0")
    ours = pid in ("", str(os.getpid())) and period.isdecimal()
    return Notifier(address, int(period) / 1e6 if ours else 0.0)
