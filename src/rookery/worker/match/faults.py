"""What goes wrong between the runner and an engine, or a file of the match."""

from pathlib import Path

from rookery.core.complaint import Complaint


class EngineFault(Exception):
    """The engine failed the runner; the game in progress is lost for it."""


class EngineGone(EngineFault):
    """it ended or closed its pipes"""


class EngineSilent(EngineFault):
    """it did not answer in time"""


class EngineFloods(EngineFault):
    """it wrote more than any honest engine does and gave no answer"""


class MatchFault(Complaint):
    """A match that cannot go on."""


class EngineUnusable(MatchFault):
    """The engine can't be started or does not speak UCI, so no game could be fair."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The engine {name} cannot play: {why}.")
        self.name = name


class FileUnusable(MatchFault):
    """A file that the match writes to can't be written; a resume file says how to go on."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} can't be written: {error.strerror}.")
