"""Changes of accounts that have effect in this process at once, without waiting for the
announcement that other processes get."""

from collections.abc import Callable

from msgspec import UNSET

from rookery.core.model.engine import Catalogue
from rookery.core.protocol.people import MeChange
from rookery.server.http.session import Session, SessionCheck
from rookery.server.identity.bearers import Bearers, Caller
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.users import Token, User
from rookery.server.identity.worker_credentials import WorkerCredentials


class AccountChanges:
    """Changes accounts, and drops what this process remembers of them. There is one per site."""

    def __init__(
        self,
        profiles: Profiles,
        sessions: SessionCheck,
        bearers: Bearers,
        credentials: WorkerCredentials,
        find_catalogue: Callable[[str], Catalogue],
    ) -> None:
        """`find_catalogue` has the engines that a user may see."""
        self._profiles = profiles
        self._sessions = sessions
        self._bearers = bearers
        self._credentials = credentials
        self._find_catalogue = find_catalogue

    def forget(self, name: str) -> None:
        """Forget an account that was changed."""
        self._sessions.forget(name)
        self._bearers.forget_all()
        self._credentials.forget(name)

    async def change_own(self, session: Session, client: str, name: str, wanted: MeChange) -> User:
        """Change the account of whoever asks. A new password ends all other sessions. Raises the
        same errors as `Profiles.change`."""
        catalogue = self._find_catalogue(name)
        changed = await self._profiles.change(name, wanted, client, catalogue)
        self.forget(name)
        # Keep the session in which the password was set, although it ends all others.
        if wanted.password is not UNSET and session.user == name:
            session.sign_in(name, self._sessions.mark(changed), keep=session.data.keep)
        return changed

    async def revoke_own_token(self, caller: Caller, token_id: str) -> Token:
        """Revoke a token of the caller. Raises the same errors as `Profiles.revoke`."""
        revoked = await self._profiles.revoke(caller, token_id)
        self._bearers.forget_all()
        self._credentials.tokens.forget(token_id)
        return revoked
