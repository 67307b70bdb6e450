"""The settings of a worker: from flags, then the configuration file, then defaults.

The file is TOML with the names of the flags, and `_` for `-`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec
import platformdirs
from cyclopts import Group, Parameter

from rookery.core.command import BadArgument, option

SERVER = "ROOKERY_SERVER"
THERE = Group("Server", sort_key=2)
MACHINE = Group("Machine", sort_key=3)
LIFE = Group("Life", sort_key=4)


def _server(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=THERE)


def _machine(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=MACHINE)


def _life(purpose: str, metavar: str | None = None, *, show: bool = True) -> Parameter:
    return option(purpose, metavar, group=LIFE, show=show)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """One field for each flag. Secrets are read from files, because everybody can read the words of
    a command."""

    server: Annotated[str, _server("address of the server [ROOKERY_SERVER]", "URL")] = ""
    username: Annotated[str, _server("your user name on the server", "NAME")] = ""
    password_file: Annotated[str, _server("file with your password", "FILE")] = ""
    token_file: Annotated[str, _server("file with a worker token, or with NAME:TOKEN", "FILE")] = ""
    concurrency: Annotated[
        str,
        _machine("cores to play on: auto (physical cores but one), 4, MAX, PHYS-1, MAX/2", "N"),
    ] = "auto"
    memory: Annotated[str, _machine("memory to use: auto (all), 8000, MAX/2", "MIB")] = "auto"
    min_threads: Annotated[int, _machine("play only runs with at least N threads", "N")] = 1
    cache: Annotated[
        str, _machine("folder for sources, nets, books and engines; workers may share it", "DIR")
    ] = ""
    grace: Annotated[float, _life("time to finish games after Ctrl-C (default: 60)", "SECONDS")] = (
        60.0
    )
    fleet: Annotated[bool, _life("exit when there is no work")] = False
    once: Annotated[bool, _life("play one task, then exit")] = False
    focus: Annotated[
        tuple[str, ...], _life("play this engine first; may be repeated", "ENGINE")
    ] = ()
    only: Annotated[tuple[str, ...], _life("play this engine only; may be repeated", "ENGINE")] = ()
    noisy: Annotated[
        bool, _machine("other programs use this machine: skip runs that need exact times")
    ] = False
    not_noisy: Annotated[
        bool, _machine("play runs that need exact times even if the measured speeds differ")
    ] = False
    nice: Annotated[bool, _machine("play at a low priority (nice)")] = False
    without_sandbox: Annotated[
        bool, _machine("where there is no sandbox, run other people's programs without one")
    ] = False
    allow_private_sources: Annotated[
        bool, _machine("fetch sources from this machine's files and local network, too")
    ] = False
    syzygy: Annotated[tuple[str, ...], _machine("folder with tablebases", "DIR")] = ()
    syzygy_men: Annotated[int, _machine("men up to which the tablebases are complete", "N")] = 0
    foreign_server: Annotated[
        bool, _server("play for a server that is not Rookery, too; needs fastchess")
    ] = False
    fastchess: Annotated[str, _machine("fastchess program, for --foreign-server", "FILE")] = (
        "fastchess"
    )
    key: Annotated[str, _machine("short name of the machine, 2 to 8 letters or digits", "NAME")] = (
        ""
    )
    no_update: Annotated[bool, _life("never update this worker")] = False
    allow_http: Annotated[bool, _life("accept updates over http, too")] = False
    trial: Annotated[bool, _life("whether a new version can play", show=False)] = False
    retry_seconds: Annotated[
        float, _life("time between attempts to reach the server (default: 15)", "SECONDS")
    ] = 15.0

    @property
    def cache_folder(self) -> Path:
        if self.cache:
            return Path(self.cache).expanduser().absolute()
        return platformdirs.user_cache_path("rookery") / "worker"


def _none_given(settings: type) -> type:
    """Return a class with the same flags, each None unless given, so that the file can supply the
    others."""
    hints = get_type_hints(settings, include_extras=True)
    flags = [
        (name, Annotated[hint.__origin__ | None, hint.__metadata__[0]], None)
        for name, hint in hints.items()
    ]
    made = make_dataclass("WorkerFlags", flags, frozen=True, slots=True, kw_only=True)
    # Flags are looked for only in Rookery's own classes.
    made.__module__ = __name__
    return Parameter(name="*")(made)


if TYPE_CHECKING:
    WorkerFlags = WorkerSettings
else:
    WorkerFlags = _none_given(WorkerSettings)
NAMES = tuple(one.name for one in fields(WorkerSettings))


def config_file() -> Path:
    """Return the default path of the configuration file."""
    return platformdirs.user_config_path("rookery") / "worker.toml"


def worker_settings(
    flags: WorkerFlags, file: Path | None, environment: Mapping[str, str] = os.environ
) -> WorkerSettings:
    """Return the settings from flags, file and environment. Raise BadArgument."""
    given = {name: getattr(flags, name) for name in NAMES}
    named = {name: value for name, value in given.items() if value is not None}
    found: dict[str, Any] = {**from_file(file), **named}
    found.setdefault("server", environment.get(SERVER, ""))
    try:
        return msgspec.convert(found, WorkerSettings)
    except msgspec.ValidationError as error:
        raise BadArgument(f"The configuration is wrong: {error}.") from None


def from_file(file: Path | None) -> dict[str, Any]:
    """Return the settings in a configuration file; empty if there is none and none was named."""
    place = file or config_file()
    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if file is None:
            return {}
        raise BadArgument(f"There is no file {file}.") from None
    except OSError as error:
        raise BadArgument(f"{place} can't be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadArgument(f"{place} can't be read: {error}.") from None
    if unknown := sorted(found.keys() - set(NAMES)):
        raise BadArgument(f"{place} has an unknown setting: {unknown[0]}.")
    return found


def credentials(settings: WorkerSettings) -> tuple[str, str]:
    """Return the user name and the password, or a token in its place. Raise BadArgument.

    A token's file may contain NAME:TOKEN, so that a machine needs only this file.
    """
    if settings.token_file:
        name, colon, token = _secret(settings.token_file).rpartition(":")
        user = settings.username or (name if colon else "")
        return _with_name(user), token
    if settings.password_file:
        return _with_name(settings.username), _secret(settings.password_file)
    raise BadArgument(
        "Give --username with --password-file, or --token-file, or run `rookery worker configure`."
    )


def _with_name(user: str) -> str:
    if not user:
        raise BadArgument("Give --username.")
    return user


def _secret(file: str) -> str:
    """Return the last line of a file: a token is often stored with the text printed before it."""
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise BadArgument(f"{file} can't be read.") from None
    found = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not found:
        raise BadArgument(f"{file} is empty.")
    return found
