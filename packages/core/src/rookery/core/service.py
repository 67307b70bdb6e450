"""Starts and states of services: this program as a service manager starts it, and words to it."""

import contextlib
import os
import socket
import sys
from pathlib import Path


def this_program() -> tuple[str, ...]:
    """Return the command that starts this program."""
    program = Path(sys.argv[0])
    if program.name in ("rookery", "rookery.exe") and program.exists():
        return (str(program.absolute()),)
    return (sys.executable, "-m", "rookery.cli.main")


def quoted(word: str) -> str:
    """Return a word as systemd reads it: quoted, with % and $ doubled."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or not word else word


def tell_service_manager(state: str) -> None:
    """Send READY=1 or STOPPING=1 to the service manager, if one has asked for it."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return
    # A name that begins with @ is an abstract socket, outside of the file system.
    address = f"\0{place[1:]}" if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(state.encode(), address)
