"""Which host names this server answers to.

A forged Host header poisons links and caches, and a web page of a stranger can point a name of his
at this machine. Both need a name, so plain addresses are always welcome.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_ALWAYS = ("localhost", "*.localhost")


@dataclass(frozen=True, slots=True)
class Hosts:
    """Exact names, and endings such as `.example.org`; an empty ending takes any name."""

    names: frozenset[str]
    endings: tuple[str, ...]

    def allow(self, header: str) -> bool:
        matched = _HOST.fullmatch(header)
        if matched is None:
            return False
        name = matched[1].lower().rstrip(".")
        return name in self.names or name.endswith(self.endings) or _is_address(name)


def hosts(base_url: str | None, allowed: Iterable[str] = ()) -> Hosts:
    """The base URL's name, the allowed ones and this host; a leading `*` stands for anything."""
    own = urlsplit(base_url).hostname if base_url else None
    patterns = [word.lower() for word in (*_ALWAYS, *allowed, *([own] if own else []))]
    return Hosts(
        names=frozenset(word for word in patterns if not word.startswith("*")),
        endings=tuple(word[1:] for word in patterns if word.startswith("*")),
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
