"""How much of the machine the worker may use: numbers, or expressions of what there is."""

import re

from rookery.core.complaint import Complaint
from rookery.worker.system.port import System

MOST_CORES = 4096
_EXPRESSION = re.compile(r"(MAX|PHYS|\d{1,9})(?:([-/*])(\d{1,9}))?", re.ASCII)


class BadAllotment(Complaint):
    """A number of cores or of MiB that makes no sense."""

    exit_code = 2

    def __init__(self, text: str, examples: str) -> None:
        super().__init__(f"{text!r} is no such number: write {examples}.")


def cores(text: str, system: System) -> int:
    """`auto` is every physical core but one, which the runner and the owner keep."""
    if text == "auto":
        return max(1, min(system.physical_cores(), system.processors()) - 1)
    words = {"MAX": system.processors(), "PHYS": system.physical_cores()}
    found = _value(text, words)
    if found is None or not 1 <= found <= MOST_CORES:
        raise BadAllotment(text, "auto, 4, MAX, PHYS-1 or MAX/2")
    return found


def memory_mib(text: str, system: System) -> int:
    """`auto` is all of it: the server knows what a game takes and stays below."""
    if text == "auto":
        return system.memory_mib()
    found = _value(text, {"MAX": system.memory_mib()})
    if found is None or found < 1:
        raise BadAllotment(text, "auto, 8000, MAX-2000 or MAX/2")
    return found


def _value(text: str, words: dict[str, int]) -> int | None:
    found = _EXPRESSION.fullmatch(text.strip().upper())
    if not found or (found[1] not in words and not found[1].isdecimal()):
        return None
    word, sign, number = found.groups()
    value = words[word] if word in words else int(word)
    if not sign:
        return value
    by = int(number)
    return {"-": value - by, "*": value * by, "/": value // max(by, 1)}[sign]
