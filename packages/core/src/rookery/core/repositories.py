"""The addresses of repositories, in profiles and submissions."""

import re
from urllib.parse import SplitResult, urlsplit

from rookery.core.model.engine import source_address
from rookery.core.protocol.codec import refuse, require

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


def parse_repository(field: str, text: str) -> str:
    """Return the normal form of a repository's address, to which workers append `/zipball/...`;
    raise BadField."""
    parts = _split_address(field, source_address(text))
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


def _split_address(field: str, text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        refuse(field, "expected an https address")
