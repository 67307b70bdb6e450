"""What a setting is declared with: its group, its purpose, and how its text becomes a value.

A reader raises ValueError with what it accepts ("1 or 0"), for a sentence that names the setting.
"""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of a setting. Help shows its purpose, the docs add the note; with a flag it
    can also be given to `rookery serve`; a secret is never shown, not even if it can't be read, and
    may lie in a file."""

    group: str
    read: Callable[[str], object]
    purpose: str
    note: str = ""
    flag: bool = False
    switch: bool = False
    """Whether the flag stands alone and turns the setting on."""
    secret: bool = False


SERVER = partial(Setting, "This server")
SEVERAL = partial(Setting, "Several servers")
PEOPLE = partial(Setting, "People and their machines")
FILES = partial(Setting, "Files")
SOURCES = partial(Setting, "Sources")
MESSAGES = partial(Setting, "Messages")
ASK = partial(Setting, "Ask")
LOG = partial(Setting, "Log")


def read_path(text: str) -> Path:
    if not text:
        raise ValueError("a folder's path")
    return Path(text).expanduser().absolute()


def read_text(text: str) -> str:
    if not text.strip():
        raise ValueError("some text")
    return text.strip()


def read_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def read_switch(text: str) -> bool:
    states = {"1": True, "true": True, "yes": True, "on": True, "": False}
    states |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in states:
        raise ValueError("1 or 0")
    return states[text.lower()]


def integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def some_of(*choices: str) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        found = read_words(text)
        if not set(found) <= set(choices):
            raise ValueError("some of " + ", ".join(choices) + ", separated by commas")
        return found

    return read


def one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return text

    return read


def read_address(text: str) -> str:
    address = text.rstrip("/")
    with contextlib.suppress(ValueError):  # a port that is no number
        if re.fullmatch(r"https?://[^/?#\s@]+", address) and urlsplit(address).port != 0:
            return address
    raise ValueError("an address such as https://tests.example.org")


def read_repository(text: str) -> str:
    """The address of a repository; empty for none."""
    if text == "off":
        return ""
    if not re.fullmatch(r"[a-z]{2,10}://[^\s?#]{1,500}", text):
        raise ValueError("the address of a git repository, or off")
    return text


def read_endpoint(text: str) -> str:
    if not re.fullmatch(r"https?://[^/?#\s@]+(/[^?#\s]*)?", text):
        raise ValueError("an address such as https://api.example.org/v1")
    return text.rstrip("/")


def read_database(text: str) -> str:
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError("an address such as postgresql://user@host/name")
    return text


def read_files_place(text: str) -> str:
    if not re.match(r"/|file:///|s3://[^/@?#\s]", text):
        raise ValueError("a folder's path, or an address such as s3://bucket/prefix")
    return text
