"""The single words of a submission, each read by its own rule: an official worker that is given a
bad one ends its process, so that nothing doubtful is let through."""

import re
from urllib.parse import SplitResult, urlsplit

from msgspec import UNSET, UnsetType

from rookery.core.engine import source_address
from rookery.core.timecontrol import BadTimeControl, TimeControl, parse
from rookery.service.sources.books import NAME as BOOK
from rookery.service.submission.faults import NoSignature, Unresolved, refuse, require

MOST_HASH_MIB = 2**20
DEEPEST_BOOK = 1000
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_SIGNATURE = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
# As engines write it at the end of a commit's message: "Bench: 1234567", "bench = 1,234,567".
_BENCH = re.compile(r"\b[Bb]ench\s*(?:[:=]\s*)?([1-9][0-9,]{4,14})\b", re.ASCII)
_SRI = re.compile(r"[A-Za-z0-9+/]{64}", re.ASCII)
_TOKEN = re.compile(r"[^\s=]+=[^\s=]*", re.ASCII)
_OWNER_AND_NAME = re.compile(r"/[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}", re.ASCII)
_PATH = re.compile(r"(?:/[A-Za-z0-9_.~+-]{1,200}){1,10}", re.ASCII)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)
_ACCOUNT_AND_HOST = re.compile(rf"(?:[a-z0-9_.-]{{1,60}}@)?{_HOST.pattern}", re.ASCII)
_HOSTS = {
    "http": _HOST,
    "https": _HOST,
    "git": _HOST,
    "ssh": _ACCOUNT_AND_HOST,
    "file": re.compile(""),
}


def time_control(field: str, text: str) -> TimeControl:
    try:
        return parse(text)
    except BadTimeControl as error:
        refuse(field, str(error))


def commit(field: str, found: str | UnsetType) -> str:
    if found is UNSET or not found:
        raise Unresolved(field=field)
    require(_COMMIT.fullmatch(found.lower()) is not None, field, "expected 40 hex digits")
    return found.lower()


def signature(field: str, found: str | int | UnsetType, message: str) -> str:
    """The bench as given, else the last one that the commit's message names."""
    if found is UNSET or found == "":
        named = _BENCH.findall(message)
        if not named:
            raise NoSignature(field=field)
        return str(named[-1]).replace(",", "")
    text = str(found)
    require(_SIGNATURE.fullmatch(text) is not None, field, "expected the nodes of a bench")
    return text


def without_bench(message: str) -> str:
    """The words of a commit's message."""
    return _BENCH.sub("", message).strip()


def options(field: str, text: str) -> str:
    """`Name=Value` tokens with single spaces between; none at all is fine."""
    require(text.isascii() and text.isprintable(), field, "expected printable ASCII characters")
    tokens = text.split(" ") if text else []
    for token in tokens:
        if not _TOKEN.fullmatch(token):
            refuse(
                field,
                f"{token[:40]!r}: expected Name=Value with one = each and single spaces between",
            )
    names = [token.partition("=")[0] for token in tokens]
    require(len(names) == len({name.lower() for name in names}), field, "an option is named twice")
    _check_numbers(field, tokens)
    return text


def _check_numbers(field: str, tokens: list[str]) -> None:
    for name, _, value in (token.partition("=") for token in tokens):
        if name in ("Hash", "Threads"):
            whole = value.isdecimal() and 1 <= int(value[:9]) <= MOST_HASH_MIB
            require(whole, field, f"{name} must be a whole number from 1 to {MOST_HASH_MIB}")


def book(field: str, name: str) -> str:
    require(BOOK.fullmatch(name) is not None, field, "expected a file name ending in .epd or .pgn")
    return name


def book_depth(field: str, found: str | int) -> int:
    text = str(found)
    depth = int(text) if re.fullmatch(r"[0-9]{1,4}", text) else 0
    require(1 <= depth <= DEEPEST_BOOK, field, f"expected a whole number from 1 to {DEEPEST_BOOK}")
    return depth


def book_sri(field: str, found: str | UnsetType) -> str:
    """The hash of a book, 64 characters without a prefix."""
    if found is UNSET or not found:
        return ""
    bare = found.removeprefix("sha384-")
    require(_SRI.fullmatch(bare) is not None, field, "expected 64 characters of base64")
    return bare


def repository(field: str, text: str) -> str:
    """The one form of a repository's address that workers can add `/zipball/...` to."""
    parts = _split(field, source_address(text))
    path, host, scheme = parts.path, parts.netloc, parts.scheme
    plain = scheme in _HOSTS and not (parts.query or parts.fragment)
    good = plain and _HOSTS[scheme].fullmatch(host) is not None
    require(good, field, "expected an address such as https://host/path")
    if host == "github.com":
        good = _OWNER_AND_NAME.fullmatch(path) is not None
        require(good, field, "expected https://github.com/OWNER/NAME")
        return f"https://github.com{path}"
    require(_PATH.fullmatch(path) is not None, field, "expected the address of a repository")
    return f"{scheme}://{host}{path}"


def _split(field: str, text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        refuse(field, "expected an https address")


def whole(field: str, found: float) -> int:
    require(float(found).is_integer(), field, "expected a whole number")
    return int(found)
