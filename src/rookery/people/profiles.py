"""What people change about their own account: password, e-mail address, repositories, tokens.

Where a session or a token that somebody else got hold of could take the account over, the password
is asked for again, and guesses at it are throttled as at the login.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from urllib.parse import SplitResult, urlsplit

from msgspec import UNSET

from rookery.errors import Complaint
from rookery.model.engine import Catalogue, source_address
from rookery.model.events import Action, about_user
from rookery.people.accounts import Accounts
from rookery.people.bearers import Bearer
from rookery.people.login import BAD_EMAIL, EMAIL, NAME_TAKEN, Attempts, Throttle
from rookery.people.users import (
    ORDINARY,
    AccountConflict,
    Malformed,
    Minted,
    NotPermitted,
    Scope,
    Token,
    UnknownToken,
    UnknownUser,
    User,
)
from rookery.protocol.codec import BadField, refuse, require
from rookery.protocol.people import MeChange

MOST_TOKENS = 100
MOST_REPOSITORIES = 100
REVOKERS = frozenset({Scope.SUBMIT, Scope.ADMIN})


class Profiles:
    """One per app: it counts attempts."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._attempts = Attempts(accounts.clock)
        self._new_addresses = Throttle(most=5, seconds=3600)

    async def change(self, name: str, wanted: MeChange, client: str, catalogue: Catalogue) -> User:
        """The user as they are then. `catalogue` is what they know of engines. Raises a Complaint,
        WireFault or Throttled, and changes nothing."""
        passwords, hashed = self._accounts.passwords, ""
        repositories = _checked(wanted.repositories or {}, catalogue)
        user = await self._user(name)
        if wanted.password is not UNSET or wanted.email is not UNSET:
            await self._check_password(user, wanted.current_password, client)
        if wanted.email is not UNSET:
            await self._check_address(user, wanted.email)
        if wanted.password is not UNSET:
            await passwords.check_new(wanted.password, (name, wanted.email or user.email))
            hashed = await passwords.hash(wanted.password)
        # Looked up again: to hash takes a while, in which somebody else may have changed the user.
        user = await self._user(name)
        changed = replace(
            user,
            email=user.email if wanted.email is UNSET else wanted.email,
            password_hash=hashed or user.password_hash,
            repositories=_merged(user.repositories, repositories),
        )
        if changed != user:
            await self._accounts.users.save(changed)
            await self._tell(user, changed)
        return changed

    async def create_token(
        self, user: User, scopes: frozenset[Scope], days: int | None, note: str
    ) -> Minted:
        """Raises Malformed or AccountConflict."""
        now = self._accounts.clock.now()
        valid = [each for each in await self._accounts.tokens.of(user.name) if each.is_valid(now)]
        if len(valid) >= MOST_TOKENS:
            raise AccountConflict(
                "You have as many valid tokens as one may have: revoke some first."
            )
        lasting = None if days is None else timedelta(days=days)
        return await self._accounts.create_token(
            user.name, scopes or ORDINARY, lasting=lasting, note=note, by=user.name
        )

    async def revoke(self, bearer: Bearer, token_id: str) -> Token:
        """One of the bearer's own; raises UnknownToken, also for those of others, or
        NotPermitted."""
        name = bearer.user.name
        if token_id != bearer.token_id and not bearer.scopes & REVOKERS:
            raise NotPermitted(
                "This token may revoke no other than itself; it takes one for submit or admin."
            )
        owned = {token.id: token for token in await self._accounts.tokens.of(name)}
        if token_id not in owned:
            raise UnknownToken(token_id)
        if owned[token_id].revoked is not None:
            return owned[token_id]
        return replace(owned[token_id], revoked=await self._accounts.revoke(token_id, by=name))

    async def _user(self, name: str) -> User:
        user = await self._accounts.users.by_name(name)
        if user is None:
            raise UnknownUser(name)
        return user

    async def _check_password(self, user: User, present: str, client: str) -> None:
        self._attempts.charge(client, user.name)
        right = await self._accounts.passwords.matches(user.name, user.password_hash, present)
        if not right:
            raise NotPermitted("Give your present password along: it is wrong or missing.")
        self._attempts.refund(client, user.name)

    async def _check_address(self, user: User, email: str) -> None:
        """Charged, because whether it is taken tells who has an account."""
        if not EMAIL.fullmatch(email):
            raise Malformed(BAD_EMAIL)
        self._new_addresses.charge(user.name, self._accounts.clock.seconds())
        others = [each for each in await self._accounts.users.everyone() if each.name != user.name]
        if email.lower() in {each.email.lower() for each in others}:
            raise Complaint(NAME_TAKEN)

    async def _tell(self, before: User, after: User) -> None:
        accounts, name = self._accounts, before.name
        for action, changed in (
            (Action.CHANGE_EMAIL, before.email != after.email),
            (Action.CHANGE_PASSWORD, before.password_hash != after.password_hash),
        ):
            if changed:
                event = about_user(action, name, name, accounts.clock.now(), "")
                await accounts.audit.write(event)


def _checked(given: Mapping[str, str | None], catalogue: Catalogue) -> Mapping[str, str | None]:
    """Addresses in their one form; raises BadField."""
    found: dict[str, str | None] = {}
    for engine, address in given.items():
        field = f"repositories.{engine}"
        if address is not None and engine not in catalogue.engines:
            raise BadField(field=field, text="expected an engine that is known here")
        found[engine] = None if address is None else repository(field, address)
    return found


def _merged(known: Mapping[str, str], given: Mapping[str, str | None]) -> Mapping[str, str]:
    merged = {**known, **given}
    found = {engine: address for engine, address in merged.items() if address is not None}
    if len(found) > MOST_REPOSITORIES:
        raise BadField(field="repositories", text=f"expected at most {MOST_REPOSITORIES}")
    return found


# Addresses of repositories, as profiles keep them and submissions name them.

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
