"""`rookery engine add`: from an address or a program to a record that workers can play."""

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import platformdirs
from rich.console import Console

from rookery.core.boundary.offload import Threads
from rookery.core.client.logins import SERVER, THE_SERVER, ServerFlags
from rookery.core.command import BadArgument, option
from rookery.core.http_client import LARGEST_FILE, HttpClient, copy_at_most
from rookery.core.http_failures import CallFailed
from rookery.core.http_places import is_web_address
from rookery.core.protocol.codec import encode
from rookery.match.commands.session import INTERRUPTS
from rookery.worker.engines.git import (
    SourceVersion,
    SourceVersions,
    engine_name,
    prepare_versions,
    proxy_environment,
)
from rookery.worker.engines.orders import BuildFailed, NoDownloads, NotOffered
from rookery.worker.engines.recipes import discover_recipes
from rookery.worker.engines.trial import NotPlayable, Trial, Trials, TrialSource
from rookery.worker.engines.workshop import Workshop, build_environment

# Nets for `rookery engine add`: from a folder, a server, or the official server.

OFFICIAL = "https://tests.stockfishchess.org"
SECONDS = 120.0


class NetSources(NoDownloads):
    """Finds the nets for a build in a folder, on a server, or on the official server."""

    def __init__(self, folder: Path | None, server: str, threads: Threads) -> None:
        self._folder = folder
        self._servers = [address.rstrip("/") for address in (server, OFFICIAL) if address]
        self._threads = threads

    async def net(self, name: str, into: Path) -> None:
        await self._threads.io(self._net, name, into)

    def _net(self, name: str, into: Path) -> None:
        if self._folder and (self._folder / name).is_file():
            shutil.copyfile(self._folder / name, into)
            return
        for server in self._servers:
            if is_web_address(server) and _fetched(server, name, into):
                return
        raise NotOffered


def _fetched(server: str, name: str, into: Path) -> bool:
    http, url = HttpClient(SECONDS), f"{server}/api/nn/{name}"
    try:
        with http.follow(url) as stream:
            stream.save(into)
            packed = stream.headers.get("Content-Encoding") == "gzip"
        if packed:
            _unpack(into)
    except (OSError, EOFError, CallFailed):
        return False
    return True


def _unpack(file: Path) -> None:
    part = file.with_name(f"{file.name}.gz")
    file.replace(part)
    try:
        with gzip.open(part) as packed, file.open("wb") as target:
            copy_at_most(packed, target, LARGEST_FILE)
    finally:
        part.unlink()


LAST_LINES = 30
NOTHING_KNOWN = (
    "{address} has no Makefile with EXE or profile-build, no Cargo.toml and no CMakeLists.txt:"
    " write a record with a recipe of the kind `commands`, and `rookery engine put` it."
)


def add(  # noqa: PLR0913 - each is a flag
    address: Annotated[str, option("a git repository, folder or program")],
    /,
    *,
    name: Annotated[str, option("name of the engine", "NAME")] = "",
    ref: Annotated[str, option("branch, tag or commit to try", "REF")] = "",
    team: Annotated[str, option("team that the engine belongs to", "TEAM")] = "",
    nets: Annotated[Path | None, option("folder with nets it needs", "DIR")] = None,
    cache: Annotated[Path | None, option("folder for builds", "DIR")] = None,
    write: Annotated[Path | None, option("write the record to a file", "FILE")] = None,
    put: Annotated[bool, option("add the engine to the server")] = False,
    replace: Annotated[str, option("replace the record of this engine", "NAME")] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Build and try an engine, and propose its record."""
    threads = Threads()
    sources = NetSources(nets, server.server or os.environ.get(SERVER, ""), threads)
    folder = cache or platformdirs.user_cache_path("rookery") / "worker"
    # A person who names a source on their own machine's command line wants it to be built there.
    workshop = Workshop(folder, sources, without_sandbox=True, private_sources=True)
    with ProgressLine(quiet=server.json) as tell, tempfile.TemporaryDirectory() as own:
        path = Path(address).expanduser().absolute()
        versions = prepare_versions(Path(own), build_environment() | proxy_environment())
        attempt = _Attempt(address, path, name, ref, versions, workshop, threads, tell)
        trial = _made(attempt)
    record = msgspec.structs.replace(trial.record, team=team)
    _report(trial)
    print(msgspec.json.format(encode(record)).decode())
    if write:
        try:
            write.write_bytes(msgspec.json.format(encode(record)) + b"\n")
        except OSError:
            raise BadArgument(f"{write} can't be written.") from None
    if put:
        server.client.put_engine(record, replace=record.name == replace)
        print(f"The server has the record of {record.name}.", file=sys.stderr)


def _made(attempt: "_Attempt") -> Trial:
    INTERRUPTS.take_over()
    try:
        return INTERRUPTS.run(attempt.made())
    except KeyboardInterrupt:
        # A second signal must not interrupt the interpreter while it ends.
        INTERRUPTS.ignore()
        raise
    except (BuildFailed, NotPlayable) as failed:
        _show_log(failed.log)
        raise NotPlayable(str(failed)) from None


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The arguments, with folders resolved before the loop runs."""

    address: str
    path: Path
    """The address as a path, whether or not that exists."""
    name: str
    ref: str
    versions: SourceVersions
    workshop: Workshop
    threads: Threads
    tell: Callable[[str], None]

    async def made(self) -> Trial:
        """Build the engine and try it. Raises BuildFailed or NotPlayable."""
        trials = Trials(self.workshop, self.threads, self.tell)
        sandbox = await self.workshop.sandbox()
        if not sandbox.available:
            self.tell(
                f"Without a sandbox, the engine can do anything here that you can. {sandbox.why}"
            )
        if await self.threads.io(self.path.is_file):
            self.tell(f"Starting {self.path} ...")
            return await trials.program(self.name or engine_name(self.path.name), self.path)
        self.tell("Looking for the version ...")
        version = await self._version()
        self.tell(f"Fetching {version.commit[:10]} of {version.repository} ...")
        tree = await self.workshop.source(version.repository, version.commit)
        ways = await self.threads.io(discover_recipes, tree)
        if not ways:
            raise NotPlayable(NOTHING_KNOWN.format(address=self.address))
        name = self.name or engine_name(version.known_as)
        source = TrialSource(name, version.repository, version.commit, version.known_as)
        return await trials.from_source(source, ways)

    async def _version(self) -> SourceVersion:
        if not await self.threads.io(self.path.is_dir):
            return await self.versions.remote(self.address, self.ref)
        if await self.threads.io((self.path / ".git").exists):
            return await self.versions.checkout(self.path, self.ref)
        return await self.versions.snapshot(self.path)


class ProgressLine:
    """Shows progress: one changing line on a terminal, separate lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._status = self._console.status("")

    def __enter__(self) -> Callable[[str], None]:
        if self._console.is_terminal:
            self._status.start()
            return self._status.update
        return self._console.print

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def _show_log(log: str) -> None:
    lines = log.splitlines()
    for line in lines[-LAST_LINES:]:
        print(f"  {line}", file=sys.stderr)


def _report(trial: Trial) -> None:
    options = ", ".join(option.name for option in trial.introduction.options) or "none"
    speeds = ", ".join(f"{each.nps:,.0f}" for each in trial.benches)
    nodes = ", ".join(dict.fromkeys(f"{each.nodes:,}" for each in trial.benches))
    name = trial.introduction.name or "nobody"
    lines = (
        f"It says it is {name}, and plays {trial.introduction.move}.",
        f"Options: {options}.",
        f"Bench: {nodes} nodes; {speeds} nodes a second.",
        *trial.remarks,
    )
    for line in lines:
        print(line, file=sys.stderr)
