"""What is kept in memory of accounts, engines and teams follows what any process changes."""

from rookery.service.bearers import Bearers
from rookery.service.credentials import Credentials
from rookery.service.engines import Engines
from rookery.service.holdings import Holdings
from rookery.service.refresh import Refresh
from rookery.service.teams import Teams
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


def refresh_by_tidings(basis: Basis, engines: Engines, teams: Teams, holdings: Holdings) -> None:
    """They are told of together: who may see what depends on all three."""

    async def load() -> None:
        await engines.load()
        await teams.load()
        await holdings.load()

    refresh = Refresh(load, basis.log)
    basis.tidings.on(Channel.ENGINES, refresh.soon, refresh.soon)
