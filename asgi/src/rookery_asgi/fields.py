"""Response fields of the operator's own: `--header 'X-Frame-Options: DENY'`."""

import re
from collections.abc import Iterable

from rookery_asgi.errors import BadOption

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FRAMING = frozenset({"connection", "content-length", "transfer-encoding", "trailer", "upgrade"})
MOST = 32
"""The core keeps one bit for each."""


def read_fields(given: Iterable[str]) -> dict[str, list[bytes]]:
    """The lines of a head, by the name of the field."""
    found: dict[str, list[bytes]] = {}
    for text in given:
        name, value = read_field(text)
        found.setdefault(name, []).append(f"{name}: {value}\r\n".encode("latin-1"))
    if sum(map(len, found.values())) > MOST:
        raise BadOption(f"more than {MOST} of --header")
    return found


def read_field(text: str) -> tuple[str, str]:
    """Name and value; raises BadOption for what can't be in a head or is not the operator's."""
    name, colon, value = text.partition(":")
    name, value = name.strip().lower(), value.strip()
    if not colon or not NAME.fullmatch(name):
        raise BadOption("--header", f"{text!r} is not of the form 'Name: value'")
    if any(c != "\t" and not (" " <= c <= "~" or "\xa0" <= c <= "\xff") for c in value):
        raise BadOption("--header", f"{text!r} has a character that headers can't have")
    if name in FRAMING:
        raise BadOption("--header", f"{name} is the server's own")
    return name, value
