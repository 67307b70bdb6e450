"""Signing up: somebody asks for an account, which waits until an approver accepts it."""

import re
from dataclasses import dataclass

from rookery.core.complaint import Complaint
from rookery.service.accounts import Accounts, BadUserName, NewUser
from rookery.service.login import Throttle, origin_of
from rookery.service.password_rules import BadLength
from rookery.service.users import User, UserExists, Users

MOST_WAITING = 500
"""Beyond these a flood is more likely than a rush."""
EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,180}\.[A-Za-z0-9-]{2,63}")


class SignUpClosed(Complaint):
    """Accounts are made by the people who run this site; ask them for one."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class BadEmail(Complaint):
    """Give an e-mail address at which you can be reached."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class NameTaken(Complaint):
    """This name or this e-mail address can't be used; choose another one."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class TooManyWait(Complaint):
    """Too many accounts wait for approval; try again in a few days."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True, slots=True)
class Applicant:
    """What somebody says who wants an account."""

    name: str
    password: str
    email: str


class SignUp:
    """The use case. One address makes a few accounts an hour, as a family might."""

    def __init__(self, accounts: Accounts, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self._accounts = accounts
        self._per_origin = Throttle(most=5, seconds=3600)

    async def apply(self, applicant: Applicant, client: str) -> User:
        """The account, still waiting; raises a Complaint that says why not, or Throttled."""
        if not self.is_open:
            raise SignUpClosed
        if not EMAIL.fullmatch(applicant.email):
            raise BadEmail
        users, now = self._accounts.users, self._accounts.clock.seconds()
        self._per_origin.charge(origin_of(client), now)
        await _check_free(applicant, users)
        new = NewUser(applicant.name, applicant.password, applicant.email, pending=True)
        try:
            return await self._accounts.add(new)
        except (BadUserName, BadLength):
            # Whoever mistypes may try again. A weak password is charged like an account: to judge
            # one costs as much as to keep one.
            self._per_origin.refund(origin_of(client), now)
            raise
        except UserExists:
            raise NameTaken from None


async def _check_free(applicant: Applicant, users: Users) -> None:
    """Names are not told apart by their case, or people would be taken for one another."""
    everyone = await users.everyone()
    names = {user.name.lower() for user in everyone}
    emails = {user.email.lower() for user in everyone if user.email}
    if applicant.name.lower() in names or applicant.email.lower() in emails:
        raise NameTaken
    if sum(user.pending for user in everyone) >= MOST_WAITING:
        raise TooManyWait
