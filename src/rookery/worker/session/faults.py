"""What can go wrong between a worker, its server and a run."""

from typing import Literal

from rookery.core.complaint import Complaint

Blame = Literal["run", "machine"]


class Unreachable(Exception):
    """The server gave no answer, or none that can be read: try again later."""


class Refused(Exception):
    """The server answered, and the answer is no."""


class NotTaken(Refused):
    """A file that this worker does not take: too large, or from its own network."""


class CredentialsRefused(Complaint):
    """The server does not know this user or this password."""

    exit_code = 5

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"{server} refused the user name or the password: {why}")


class ForeignServer(Complaint):
    """The server is not a Rookery one, and nobody said that this is meant."""

    exit_code = 5

    def __init__(self, server: str) -> None:
        super().__init__(
            f"{server} is not a Rookery server; --foreign-server plays for it with fastchess."
        )


class TaskFailed(Exception):
    """A task can't be played to its end here."""

    def __init__(self, sentence: str, log: str = "", blame: Blame = "machine") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
        self.blame = blame


class WrongBench(TaskFailed):
    """An engine is not the one that its author measured."""

    def __init__(self, engine: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"Wrong bench in {engine}, user expected: {expected} but worker got: {found}",
            blame="run",
        )
        self.found = found
