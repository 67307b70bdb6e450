"""Creating, changing and removing users and their tokens, as administrators do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from msgspec import UNSET
from msgspec.structs import asdict

from rookery.core.clock import Clock
from rookery.core.model.events import LINK_MADE, SYSTEM, Action, about_user
from rookery.core.model.machine import MACHINE_LIMIT
from rookery.core.protocol.people import UserChange
from rookery.server.identity.links import LinkRefused
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import (
    APPROVERS,
    AccountConflict,
    Audit,
    Chance,
    Malformed,
    Scope,
    Token,
    Tokens,
    TokenWithSecret,
    UnknownUser,
    User,
    Users,
    full_group_name,
    is_approver,
    mint,
)

NAME = re.compile(r"[A-Za-z0-9]{2,50}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewUser:
    """An account to create; `pending` where an approver has to accept it first."""

    name: str
    password: str
    email: str = ""
    approver: bool = False
    machine_limit: int = MACHINE_LIMIT
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Accounts:
    """The changes that administrators make, each written to the log of actions. `by` is the name of
    the user who makes the change, SYSTEM for a command on the server."""

    users: Users
    tokens: Tokens
    passwords: Passwords
    clock: Clock
    chance: Chance
    audit: Audit

    async def add(self, new: NewUser, *, by: str = SYSTEM) -> User:
        """Creates an account; raises UserExists, Malformed or WeakPassword."""
        if not NAME.fullmatch(new.name):
            raise Malformed("A user's name has 2 to 50 letters and digits.")
        await self.passwords.check_new(new.password, (new.name, new.email))
        user = User(
            name=new.name,
            email=new.email,
            password_hash=await self.passwords.hash(new.password),
            groups=frozenset({APPROVERS} if new.approver else ()),
            blocked=False,
            pending=new.pending,
            machine_limit=new.machine_limit,
            created=self.clock.now(),
        )
        await self.users.add(user)
        if not user.pending:
            # A stranger who asks for an account must not be able to write to the public log.
            await self._write_audit(Action.NEW_USER, user.name, by, "")
        return user

    async def set_password(
        self, name: str, password: str, *, linked: User | None = None, by: str = SYSTEM
    ) -> None:
        """Changes the password alone. `linked` is the user that a link was checked for; raises
        LinkRefused where its password or address is another one by now."""
        user = await self._load_user(name)
        await self.passwords.check_new(password, (user.name, user.email))
        hashed = await self.passwords.hash(password)

        def decide(now: User) -> User:
            present, checked = (now.password_hash, now.email), linked
            if checked is not None and present != (checked.password_hash, checked.email):
                raise LinkRefused
            return replace(now, password_hash=hashed)

        await self.users.change(name, decide)
        await self._write_audit(Action.CHANGE_PASSWORD, user.name, by, "")

    async def allow_reset(self, name: str, *, by: str = SYSTEM) -> User:
        """The user, to whom a link to a new password may be given; the log says that it was made.
        Raises UnknownUser or AccountConflict."""
        user = await self._load_user(name)
        if is_approver(user):
            raise AccountConflict(
                "An approver's password can't be reset here: the server's operator can set it"
                " with `rookery user passwd`."
            )
        if user.pending or user.blocked:
            raise AccountConflict("This account can't log in, so it needs no new password.")
        await self._write_audit(Action.CHANGE_PASSWORD, user.name, by, LINK_MADE)
        return user

    async def confirm_email(self, name: str, address: str) -> None:
        """Notes that an address is a user's own; raises LinkRefused where theirs is another one by
        now."""

        def decide(now: User) -> User:
            if now.email != address:
                raise LinkRefused
            return replace(now, verified_email=address)

        await self.users.change(name, decide)

    async def change(
        self,
        name: str,
        wanted: UserChange,
        *,
        upload_mb: int | Literal["default"] | None = None,
        by: str = SYSTEM,
    ) -> User:
        """Changes an account; raises UnknownUser or AccountConflict. Logs only what has changed."""
        given = {key: value for key, value in asdict(wanted).items() if value is not UNSET}
        if "groups" in given:
            given["groups"] = frozenset(map(full_group_name, given["groups"]))
        if given.get("blocked") is False:
            given["block_reason"] = ""
        if upload_mb is not None:
            given["upload_mb"] = None if upload_mb == "default" else upload_mb

        def decide(now: User) -> User:
            changed = replace(now, **given)
            if by == name and (given.get("blocked") or changed.groups != now.groups):
                raise AccountConflict("You can't take away your own rights: ask another approver.")
            return changed

        before, after = await self.users.change(name, decide)
        for action, message in _describe_changes(before, after):
            await self._write_audit(action, name, by, message)
        return after

    async def reject(self, name: str, *, by: str = SYSTEM) -> User:
        """Removes an account that was never accepted; raises UnknownUser or AccountConflict."""
        user = await self._load_user(name)
        await self.users.remove(name, _check_pending)
        await self._write_audit(Action.REJECT_USER, user.name, by, "rejected")
        return user

    async def create_token(
        self,
        name: str,
        scopes: frozenset[Scope],
        *,
        lasting: timedelta | None = None,
        note: str = "",
        by: str = SYSTEM,
    ) -> TokenWithSecret:
        user, now = await self._load_user(name), self.clock.now()
        expires = None if lasting is None else now + lasting
        minted = mint(user.name, scopes, now=now, chance=self.chance, expires=expires, note=note)
        await self.tokens.add(minted.token)
        await self._write_audit(Action.NEW_TOKEN, user.name, by, _describe_token(minted.token))
        return minted

    async def list_tokens(self, name: str) -> tuple[Token, ...]:
        """The tokens of a user, or of all users for an empty name."""
        if name:
            await self._load_user(name)
        return await self.tokens.of(name)

    async def revoke(self, token_id: str, *, by: str = SYSTEM) -> datetime:
        """Revokes a token and returns the time; raises UnknownToken."""
        now = self.clock.now()
        owner = await self.tokens.revoke(token_id, now)
        await self._write_audit(Action.REVOKE_TOKEN, owner, by, token_id)
        return now

    async def revoke_all(self, name: str, *, by: str = SYSTEM) -> int:
        """Revokes all valid tokens of a user and returns how many there were."""
        now = self.clock.now()
        valid = [token for token in await self.tokens.of(name) if token.is_valid(now)]
        for token in valid:
            await self.revoke(token.id, by=by)
        return len(valid)

    async def _load_user(self, name: str) -> User:
        user = await self.users.by_name(name)
        if user is None:
            raise UnknownUser(name)
        return user

    async def _write_audit(self, action: Action, user: str, by: str, message: str) -> None:
        await self.audit.write(about_user(action, user, by, self.clock.now(), message))


def _check_pending(user: User) -> None:
    if not user.pending:
        raise AccountConflict(
            "Only an account that waits for approval can be rejected; others are blocked."
        )


def _describe_token(token: Token) -> str:
    """A token for the public log: without its note, which is private."""
    scopes = ", ".join(sorted(token.scopes))
    until = f", until {token.expires:%Y-%m-%d}" if token.expires else ""
    return f"{token.id} for {scopes}{until}"


def _describe_changes(before: User, after: User) -> Iterator[tuple[Action, str]]:
    """The lines to log for a changed account."""
    if before.pending and not after.pending:
        yield Action.ACCEPT_USER, "accepted"
    if before.blocked != after.blocked:
        yield Action.BLOCK_USER, "blocked" if after.blocked else "unblocked"
    if before.groups != after.groups:
        yield Action.MODIFY_USER, f"groups: {', '.join(sorted(after.groups)) or 'none'}"
    if before.machine_limit != after.machine_limit:
        yield Action.MODIFY_USER, f"machine limit: {after.machine_limit}"
    if before.upload_mb != after.upload_mb:
        allowed = "default" if after.upload_mb is None else after.upload_mb
        yield Action.MODIFY_USER, f"upload quota in MB: {allowed}"
