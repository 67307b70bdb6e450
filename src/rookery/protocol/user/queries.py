"""Reads numbers and flags out of query strings."""

import math
import re
from collections.abc import Mapping

from rookery.protocol.faults import BadParameter

_INTEGER = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def whole(query: Mapping[str, str], name: str, *, least: int, most: int) -> int:
    """A required integer within bounds."""
    text = query.get(name, "")
    if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise BadParameter(name=name, text=f"expected an integer from {least} to {most}")
    return int(text)


def decimal(query: Mapping[str, str], name: str, *, most: float) -> float:
    """A required number whose size is bounded."""
    text = query.get(name, "")
    value = float(text) if _DECIMAL.fullmatch(text[:100]) else math.inf
    if abs(value) > most:
        raise BadParameter(name=name, text=f"expected a number from {-most:g} to {most:g}")
    return value


def flag(query: Mapping[str, str], name: str) -> bool:
    """Any text but the empty one is true, even `0`: that is how fishtest's scripts know it."""
    return bool(query.get(name))
