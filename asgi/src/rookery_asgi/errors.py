"""What can go wrong before and around serving; each error's docstring is its message."""


class ServerError(Exception):
    """The server could not go on"""

    exit_status = 1

    def __str__(self) -> str:
        """The docstring, followed by what is particular to this case."""
        sentence = (type(self).__doc__ or "").strip()
        return ": ".join([sentence, *(str(part) for part in self.args)]) + "."


class Unavailable(ServerError):
    """rookery-asgi can't run here"""

    exit_status = 3


class AppNotFound(ServerError):
    """The application could not be loaded"""

    exit_status = 3


class StartupFailed(ServerError):
    """The application's start-up failed"""

    exit_status = 3


class CannotBind(ServerError):
    """The address can't be used"""

    exit_status = 3


class BadOption(ServerError):
    """An option can't be used like this"""

    exit_status = 2
