"""What is kept in memory of accounts, engines and teams follows what any process changes."""

from collections.abc import Awaitable, Callable

from rookery.service.bearers import Bearers
from rookery.service.credentials import Credentials
from rookery.service.refresh import Refresh
from rookery.service.tidings import Channel, Tidings
from rookery.web.house import Basis


def forget_by_tidings(tidings: Tidings, credentials: Credentials, bearers: Bearers) -> None:
    """Whoever changes an account, from whichever process: within a moment it counts here."""

    def user(name: str) -> None:
        credentials.forget(name)
        bearers.forget_all()

    def token(_id: str) -> None:
        credentials.forget_tokens()
        bearers.forget_all()

    def everything() -> None:
        credentials.forget_all()
        bearers.forget_all()

    tidings.on(Channel.USERS, user, everything)
    tidings.on(Channel.TOKENS, token, everything)


def refresh_by_tidings(basis: Basis, *loads: Callable[[], Awaitable[None]]) -> None:
    """Engines, teams and files are told of together: who may see what depends on all of them."""

    async def load() -> None:
        for each in loads:
            await each()

    refresh = Refresh(load, basis.log)
    basis.tidings.on(Channel.ENGINES, refresh.soon, refresh.soon)
