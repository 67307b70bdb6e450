"""Where everything of the embedded database lies below the data folder."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    data: Path

    @property
    def lock(self) -> Path:
        return self.data / "lock"

    @property
    def home(self) -> Path:
        return self.data / "database"

    @property
    def cluster(self) -> Path:
        return self.home / "postgres"

    @property
    def unfinished(self) -> Path:
        """Where initdb works: renamed to the cluster only when that is whole."""
        return self.home / "postgres.new"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def socket(self) -> Path:
        """The preferred folder for the socket; see `sockets` for when it is too long."""
        return self.home / "socket"

    @property
    def address(self) -> Path:
        """Holds the socket folder in use, for other processes and for the next start."""
        return self.home / "address"
