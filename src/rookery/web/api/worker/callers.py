"""Who calls: a verified user on a machine, at an address."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starlette.types import Scope

from rookery.service.credentials import Verified
from rookery.service.users import User
from rookery.web.scope import facts_of, header

UNKNOWN_COUNTRY = "?"
_NOWHERE = "ZZ"


class Caller(NamedTuple):
    """Known before anything of the request is believed."""

    seal: str
    machine_limit: int
    address: str
    country: str
    user: User
    teams: frozenset[str] = frozenset()
    server: Callable[[], str] = str
    """The address by which the caller knows us; seldom asked for."""


TeamsOf = Callable[[str], frozenset[str]]


def caller_in(scope: Scope, verified: Verified, teams_of: TeamsOf) -> Caller:
    user = verified.user
    address, country = facts_of(scope).client, _country(scope)
    teams = teams_of(user.name)
    server = partial(server_in, scope)
    return Caller(verified.seal, user.machine_limit, address, country, user, teams, server)


def server_in(scope: Scope) -> str:
    """As the caller wrote it; the name was checked before."""
    scheme = "https" if facts_of(scope).secure else "http"
    return f"{scheme}://{header(scope, b'host')}"


def _country(scope: Scope) -> str:
    """Two capitals that a trusted proxy in front may add."""
    code = header(scope, b"x-country-code") if facts_of(scope).proxied else ""
    known = len(code) == 2 and code.isascii() and code.isalpha() and code.isupper()
    return code if known and code != _NOWHERE else UNKNOWN_COUNTRY
