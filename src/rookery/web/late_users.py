"""The users port for an app that is made before its database is open."""

from rookery.service.users import User, Users
from rookery.web.steps import Opened


class LateUsers:
    """Hands every call to the port that a lifespan step has opened."""

    def __init__(self, opened: Opened[Users]) -> None:
        self._opened = opened

    async def by_name(self, name: str) -> User | None:
        return await self._opened().by_name(name)

    async def add(self, user: User) -> None:
        await self._opened().add(user)

    async def save(self, user: User) -> None:
        await self._opened().save(user)

    async def count(self) -> int:
        return await self._opened().count()
