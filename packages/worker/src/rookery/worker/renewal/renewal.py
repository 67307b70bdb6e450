"""Updates a worker to the version of its server: downloaded, checked, tried, then installed."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rookery
import rookery.worker
from rookery.core.boundary.offload import Threads
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.protocol.ed25519 import fingerprint, is_signed
from rookery.core.protocol.worker_answers import RookeryServer, wheel_message
from rookery.worker.renewal.installation import (
    ENVIRONMENT,
    LARGEST_WHEEL,
    MARK,
    OPEN_TO_ALL,
    InstallationFailed,
    InstallFolder,
    add_version,
    is_open_to_all,
)
from rookery.worker.renewal.probation import (
    Probation,
    begin_probation,
    end_probation,
    forget_return_note,
    is_refused,
    read_return_note,
    refuse_version,
)
from rookery.worker.server import Transport

TRIAL_SECONDS = 120.0
NO_KEY = (
    "this installation does not know its server's key; install the worker again with the line from"
    ' the page "Add a machine".'
)
NOT_SIGNED = (
    "it is not signed with the key that was pinned when this worker was installed (fingerprint"
    " {fingerprint}). If the server really has another key now, install the worker again."
)


@dataclass(frozen=True, slots=True)
class Installed:
    """This worker, if a server has installed it."""

    place: InstallFolder
    version: Path
    digest: str


def installed_here(package: Path = Path(rookery.worker.__file__).parent.parent) -> Installed | None:
    """Return this installation; None for a checkout or one that was made by other means."""
    version = package.parent
    try:
        digest = (version / MARK).read_text().strip()
        (version / ENVIRONMENT).read_text()
    except OSError:
        return None
    return Installed(InstallFolder(version.parents[1]), version, digest)


@dataclass(slots=True)
class Renewal:
    """Updates the worker to its server's version, between two tasks."""

    installed: Installed
    transport: Transport
    threads: Threads
    say: Callable[[str], object]
    words: Sequence[str]
    """The words that the worker was started with. The new version must start with the same ones."""
    tell: Callable[[str], object]
    """Writes a line into the server's log. It is called in a thread."""
    stays: bool = False
    """Whether the owner wants to keep this version."""
    allow_http: bool = False
    """Whether the owner accepts an unencrypted connection to the server."""
    trial_seconds: float = TRIAL_SECONDS
    _refused: set[str] = field(default_factory=set)

    async def __call__(self, offer: RookeryServer) -> bool:
        """Update if the server offers a newer version. Returns whether one is in place and must be
        started now."""
        await self.threads.io(self._spoken)
        wanted, offered = offer.sha256, offer.sha256 + offer.signature
        if self.stays or not wanted or wanted == self.installed.digest or offered in self._refused:
            return False
        try:
            return await self.threads.io(self._renew, offer)
        except (InstallationFailed, NoAnswer, CallRefused, OSError) as error:
            return self._stay(offer, str(error))

    def _spoken(self) -> None:
        """End the probation of this version, and report an earlier failed one to the server."""
        root = self.installed.place.root
        end_probation(root, self.installed.version.name)
        if not (sentence := read_return_note(root)):
            return
        self.say(sentence)
        try:
            self.tell(sentence)
        except (NoAnswer, CallRefused):
            return  # it is reported at the next opportunity
        forget_return_note(root)

    def _renew(self, offer: RookeryServer) -> bool:
        place = self.installed.place
        if is_refused(place.root, offer.sha256):
            self._refused.add(offer.sha256 + offer.signature)
            return False
        self._check(offer)
        self.say(f"The server has another worker, {offer.version}; trying it.")
        fetched = place.root / f"{offer.sha256}.whl"
        try:
            self.transport.fetch(
                f"/worker/{offer.wheel}", fetched, credentials=None, most_bytes=LARGEST_WHEEL
            )
            version = add_version(place, fetched.read_bytes(), offer.sha256)
        finally:
            fetched.unlink(missing_ok=True)
        if why := self._tried(version):
            refuse_version(place.root, offer.sha256, why)
            return self._stay(offer, why)
        self._swap(version, offer)
        place.tidy(self.installed.version)
        return True

    def _swap(self, version: Path, offer: RookeryServer) -> None:
        """Make the version current, on probation, unless another worker of this installation has
        done so."""
        place, ours = self.installed.place, self.installed.version
        if place.current() != version:
            place.write_launcher(ours)
            begin_probation(
                place.root, Probation(version.name, offer.version, offer.sha256, ours.name)
            )
            place.switch(version)

    def _tried(self, version: Path) -> str:
        """Start the version in the same way, up to its first task. Returns why it does not start,
        or an empty text."""
        python = str(self.installed.place.python(version))
        command = [python, "-m", "rookery.cli.main", *self.words, "--trial"]
        try:
            ended = subprocess.run(
                command,
                env=_surroundings(version),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.trial_seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it does not start: {error}"
        said = (ended.stdout + ended.stderr).strip().splitlines()
        return f"it does not start: {said[-1] if said else 'no word'}" if ended.returncode else ""

    def _check(self, offer: RookeryServer) -> None:
        """Check that this server may provide a version. Raises InstallationFailed."""
        server, key = self.transport.server, self.installed.place.key()
        if is_open_to_all(server) and not self.allow_http:
            raise InstallationFailed(OPEN_TO_ALL.format(server=server, flag="--allow-http"))
        if not key:
            raise InstallationFailed(NO_KEY)
        try:
            public, signature = bytes.fromhex(key), bytes.fromhex(offer.signature)
        except ValueError:
            public, signature = b"", b""
        if not is_signed(public, wheel_message(offer.wheel, offer.sha256), signature):
            raise InstallationFailed(NOT_SIGNED.format(fingerprint=fingerprint(public)))

    def _stay(self, offer: RookeryServer, why: str) -> bool:
        self._refused.add(offer.sha256 + offer.signature)
        self.say(f"The server's worker {offer.version} is not used: {why}")
        return False


def _surroundings(version: Path) -> dict[str, str]:
    """Return this process's environment, with the package of the other version before this
    one's."""
    path = os.pathsep.join(_others(version))
    return {**os.environ, "PYTHONPATH": path}  # noqa: TID251 - handed on, not read


def _others(version: Path) -> Iterator[str]:
    yield str(version)
    ours = {str(Path(part).parent) for part in rookery.__path__}
    given = os.environ.get("PYTHONPATH", "")  # noqa: TID251 - handed on, not read
    yield from (part for part in given.split(os.pathsep) if part and part not in ours)
