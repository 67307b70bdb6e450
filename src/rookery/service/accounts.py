"""Accounts as an administrator keeps them: users and their tokens are made, changed and listed."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rookery.clock import Clock
from rookery.core.complaint import Complaint
from rookery.service.groups import APPROVERS
from rookery.service.password_rules import check_password
from rookery.service.passwords import Passwords
from rookery.service.tokens import Chance, Minted, Scope, Token, Tokens, mint
from rookery.service.users import UnknownUser, User, Users

MACHINE_LIMIT = 16
NAME = re.compile(r"[A-Za-z0-9]{2,50}", re.ASCII)


class BadUserName(Complaint):
    """A user's name has 2 to 50 letters and digits."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True, slots=True)
class NewUser:
    """An account to be made; one that an administrator makes waits for nobody."""

    name: str
    password: str
    email: str = ""
    approver: bool = False
    machine_limit: int = MACHINE_LIMIT


@dataclass(frozen=True, slots=True)
class Accounts:
    """The use cases."""

    users: Users
    tokens: Tokens
    passwords: Passwords
    clock: Clock
    chance: Chance

    async def add(self, new: NewUser) -> User:
        """Raises UserExists, BadUserName, WeakPassword or BadLength."""
        if not NAME.fullmatch(new.name):
            raise BadUserName
        check_password(new.password, (new.name, new.email))
        user = User(
            name=new.name,
            email=new.email,
            password_hash=await self.passwords.hash(new.password),
            groups=frozenset({APPROVERS} if new.approver else ()),
            blocked=False,
            pending=False,
            machine_limit=new.machine_limit,
            created=self.clock.now(),
        )
        await self.users.add(user)
        return user

    async def set_password(self, name: str, password: str) -> None:
        user = await self._user(name)
        check_password(password, (user.name, user.email))
        hashed = await self.passwords.hash(password)
        await self.users.save(replace(user, password_hash=hashed))

    async def set_blocked(self, name: str, *, blocked: bool) -> None:
        user = await self._user(name)
        await self.users.save(replace(user, blocked=blocked))

    async def create_token(
        self,
        name: str,
        scopes: frozenset[Scope],
        *,
        lasting: timedelta | None = None,
        note: str = "",
    ) -> Minted:
        user, now = await self._user(name), self.clock.now()
        expires = None if lasting is None else now + lasting
        minted = mint(user.name, scopes, now=now, chance=self.chance, expires=expires, note=note)
        await self.tokens.add(minted.token)
        return minted

    async def tokens_of(self, name: str) -> tuple[Token, ...]:
        """Of one user, or of everybody for an empty name."""
        if name:
            await self._user(name)
        return await self.tokens.of(name)

    async def revoke(self, token_id: str) -> datetime:
        now = self.clock.now()
        await self.tokens.revoke(token_id, now)
        return now

    async def _user(self, name: str) -> User:
        user = await self.users.by_name(name)
        if user is None:
            raise UnknownUser(name)
        return user
