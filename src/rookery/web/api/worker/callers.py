"""Who calls: a verified user on a machine, at an address."""

from dataclasses import dataclass

from starlette.types import Scope

from rookery.service.credentials import Verified
from rookery.web.scope import facts_of, header

UNKNOWN_COUNTRY = "?"
_NOWHERE = "ZZ"


@dataclass(frozen=True, slots=True)
class Caller:
    """Known before anything of the request is believed."""

    verified: Verified
    address: str
    country: str


def caller_in(scope: Scope, verified: Verified) -> Caller:
    return Caller(verified, facts_of(scope).client, _country(scope))


def _country(scope: Scope) -> str:
    """Two capitals that a proxy in front may add."""
    code = header(scope, b"x-country-code")
    known = len(code) == 2 and code.isascii() and code.isalpha() and code.isupper()
    return code if known and code != _NOWHERE else UNKNOWN_COUNTRY
