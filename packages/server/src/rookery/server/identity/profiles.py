"""Changes that users make to their own account: password, e-mail address, repositories, tokens.

A new password or address takes the present password, so that a stolen session or token can't take
over the account; wrong passwords are limited as at the login.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from msgspec import UNSET

from rookery.core.errors import NotThere
from rookery.core.model.engine import Catalogue
from rookery.core.model.events import Action, about_user
from rookery.core.protocol.codec import BadField
from rookery.core.protocol.people import MeChange
from rookery.core.repositories import parse_repository
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import Caller
from rookery.server.identity.login import HOUR, Frequency, LoginAttempts, Throttle
from rookery.server.identity.sign_up import BAD_EMAIL, EMAIL, NAME_TAKEN
from rookery.server.identity.users import (
    ORDINARY,
    AccountConflict,
    AccountRefused,
    Malformed,
    NotPermitted,
    Scope,
    Token,
    TokenWithSecret,
    UnknownUser,
    User,
)

NEW_ADDRESSES = Frequency(5, HOUR)
LINK_MAILS = Frequency(5, HOUR)
TRIALS = Frequency(20, HOUR)
MOST_TOKENS = 100
WRONG_PASSWORD = "Your present password is missing or wrong."  # noqa: S105 - a text
MOST_REPOSITORIES = 100
REVOKERS = frozenset({Scope.SUBMIT, Scope.ADMIN})


class Profiles:
    """The changes that users make to their own account. One per process, because it counts
    attempts."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._attempts = LoginAttempts(accounts.clock)
        self._new_addresses = Throttle(*NEW_ADDRESSES)
        self._mails = Throttle(*LINK_MAILS)
        self._trials = Throttle(*TRIALS)

    async def change(self, name: str, wanted: MeChange, client: str, catalogue: Catalogue) -> User:
        """Changes an account and returns the changed user. `catalogue` has the engines that the
        user may see. Raises AccountRefused, NotPermitted,
        WireFault or Throttled, and changes nothing then."""
        passwords, hashed = self._accounts.passwords, ""
        repositories = _check_repositories(wanted.repositories or {}, catalogue)
        user = await self._load_user(name)
        takes_password = wanted.password is not UNSET or wanted.email is not UNSET
        if takes_password:
            await self._check_password(user, wanted.current_password, client)
        if wanted.email is not UNSET:
            await self._check_address(user, wanted.email)
        if wanted.password is not UNSET:
            await passwords.check_new(wanted.password, (name, wanted.email or user.email))
            hashed = await passwords.hash(wanted.password)

        def decide(now: User) -> User:
            # Hashing takes a while, in which the password that was given may have been replaced.
            if takes_password and now.password_hash != user.password_hash:
                raise NotPermitted(WRONG_PASSWORD)
            return replace(
                now,
                email=now.email if wanted.email is UNSET else wanted.email,
                password_hash=hashed or now.password_hash,
                repositories=_merge_repositories(now.repositories, repositories),
            )

        before, after = await self._accounts.users.change(name, decide)
        await self._write_audit(before, after)
        return after

    async def create_token(
        self, user: User, scopes: frozenset[Scope], days: int | None, note: str
    ) -> TokenWithSecret:
        """Creates a token for a user; raises Malformed or AccountConflict."""
        now = self._accounts.clock.now()
        valid = [each for each in await self._accounts.tokens.of(user.name) if each.is_valid(now)]
        if len(valid) >= MOST_TOKENS:
            raise AccountConflict(
                "You have the most valid tokens that are allowed: revoke some first."
            )
        lasting = None if days is None else timedelta(days=days)
        return await self._accounts.create_token(
            user.name, scopes or ORDINARY, lasting=lasting, note=note, by=user.name
        )

    async def revoke(self, bearer: Caller, token_id: str) -> Token:
        """Revokes a token of the bearer; raises NotThere, also for tokens of others, or
        NotPermitted."""
        name = bearer.user.name
        if token_id != bearer.token_id and not bearer.scopes & REVOKERS:
            raise NotPermitted(
                "This token can only revoke itself; revoking others takes a token for submit or"
                " admin."
            )
        owned = {token.id: token for token in await self._accounts.tokens.of(name)}
        if token_id not in owned:
            raise NotThere("You have no such token.")
        if owned[token_id].revoked is not None:
            return owned[token_id]
        return replace(owned[token_id], revoked=await self._accounts.revoke(token_id, by=name))

    def charge_mail(self, name: str) -> None:
        """Counts a mail that a user asks for; raises Throttled."""
        self._mails.charge(name, self._accounts.clock.seconds())

    def charge_trial(self, name: str) -> None:
        """Counts a call of an address that a user chose; raises Throttled."""
        self._trials.charge(name, self._accounts.clock.seconds())

    async def _load_user(self, name: str) -> User:
        user = await self._accounts.users.by_name(name)
        if user is None:
            raise UnknownUser(name)
        return user

    async def _check_password(self, user: User, present: str, client: str) -> None:
        self._attempts.charge(client, user.name)
        right = await self._accounts.passwords.matches(user.name, user.password_hash, present)
        if not right:
            raise NotPermitted(WRONG_PASSWORD)
        self._attempts.refund(client, user.name)

    async def _check_address(self, user: User, email: str) -> None:
        """Raises AccountRefused where the address is taken; limited, because that tells who has an
        account."""
        if not EMAIL.fullmatch(email):
            raise Malformed(BAD_EMAIL)
        self._new_addresses.charge(user.name, self._accounts.clock.seconds())
        others = [each for each in await self._accounts.users.list_all() if each.name != user.name]
        if email.lower() in {each.email.lower() for each in others}:
            raise AccountRefused(NAME_TAKEN)

    async def _write_audit(self, before: User, after: User) -> None:
        accounts, name = self._accounts, before.name
        for action, changed in (
            (Action.CHANGE_EMAIL, before.email != after.email),
            (Action.CHANGE_PASSWORD, before.password_hash != after.password_hash),
        ):
            if changed:
                event = about_user(action, name, name, accounts.clock.now(), "")
                await accounts.audit.write(event)


def _check_repositories(
    given: Mapping[str, str | None], catalogue: Catalogue
) -> Mapping[str, str | None]:
    """The addresses in normal form, by engine; raises BadField."""
    found: dict[str, str | None] = {}
    for engine, address in given.items():
        field = f"repositories.{engine}"
        if address is not None and engine not in catalogue.engines:
            raise BadField(field=field, text="expected an engine that is known here")
        found[engine] = None if address is None else parse_repository(field, address)
    return found


def _merge_repositories(
    known: Mapping[str, str], given: Mapping[str, str | None]
) -> Mapping[str, str]:
    merged = {**known, **given}
    found = {engine: address for engine, address in merged.items() if address is not None}
    if len(found) > MOST_REPOSITORIES:
        raise BadField(field="repositories", text=f"expected at most {MOST_REPOSITORIES}")
    return found
