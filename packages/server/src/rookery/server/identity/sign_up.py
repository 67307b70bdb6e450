"""Signing up: somebody asks for an account, which waits until an approver accepts it."""

import re

from rookery.core.protocol.people import Application
from rookery.server.identity.accounts import Accounts, NewUser
from rookery.server.identity.login import HOUR, Frequency, Throttle, origin_of
from rookery.server.identity.users import (
    AccountRefused,
    Malformed,
    NotPermitted,
    User,
    UserExists,
    Users,
)

SIGN_UPS_PER_ADDRESS = Frequency(5, HOUR)
MOST_WAITING = 500
"""Pending accounts at which sign-up closes: more are likely made by a program."""
BAD_EMAIL = "Give an e-mail address at which you can be reached."
NAME_TAKEN = "This name or this e-mail address can't be used; choose another one."
EMAIL = re.compile(
    r"(?!\.|.*(?:\.\.|\.@|=\?))[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}"
    r"@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,178}[A-Za-z0-9])?\.[A-Za-z0-9-]{2,63}"
)
"""One address as mail programs read it without quotes: nothing in it separates recipients, no two
dots follow one another, and no `=?` begins a text that is encoded in a letter's head."""


class SignUp:
    """Signing up for an account, which waits for an approver; a few per address and hour."""

    def __init__(self, accounts: Accounts, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self._accounts = accounts
        self._per_origin = Throttle(*SIGN_UPS_PER_ADDRESS)

    async def apply(self, applicant: Application, client: str) -> User:
        """Creates a pending account; raises AccountRefused, NotPermitted or
        Throttled."""
        if not self.is_open:
            raise NotPermitted("Sign-up is closed: ask the operators of this site for an account.")
        if not EMAIL.fullmatch(applicant.email):
            raise Malformed(BAD_EMAIL)
        users, now = self._accounts.users, self._accounts.clock.seconds()
        self._per_origin.charge(origin_of(client), now)
        await _check_free(applicant, users)
        new = NewUser(applicant.name, applicant.password, applicant.email, pending=True)
        try:
            return await self._accounts.add(new)
        except Malformed:
            # A typing mistake is not counted. A weak password is: scoring takes computing time.
            self._per_origin.refund(origin_of(client), now)
            raise
        except UserExists:
            raise AccountRefused(NAME_TAKEN) from None


async def _check_free(applicant: Application, users: Users) -> None:
    """Raises AccountRefused where the name or the address is taken, regardless of case, or too many
    accounts are pending."""
    everyone = await users.list_all()
    names = {user.name.lower() for user in everyone}
    emails = {user.email.lower() for user in everyone if user.email}
    if applicant.name.lower() in names or applicant.email.lower() in emails:
        raise AccountRefused(NAME_TAKEN)
    if sum(user.pending for user in everyone) >= MOST_WAITING:
        raise AccountRefused("Too many accounts wait for approval; try again in a few days.")
