"""In-memory twins of the ports: the same behaviour without a database, for tests and trials."""

from rookery.service.users import UnknownUser, User, UserExists


class MemoryUsers:
    def __init__(self, *users: User) -> None:
        self._users = {user.name: user for user in users}

    async def by_name(self, name: str) -> User | None:
        return self._users.get(name)

    async def add(self, user: User) -> None:
        if user.name in self._users:
            raise UserExists(user.name)
        self._users[user.name] = user

    async def save(self, user: User) -> None:
        if user.name not in self._users:
            raise UnknownUser(user.name)
        self._users[user.name] = user

    async def count(self) -> int:
        return len(self._users)
