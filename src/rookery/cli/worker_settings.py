"""What a worker's owner wants: from flags, over those from the configuration file, over defaults.

The file is TOML with the names of the flags, `_` for `-`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from rookery.core.complaint import Complaint

SERVER = "ROOKERY_SERVER"


class BadWorkerSetting(Complaint):
    """Something in the worker's configuration cannot be used."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """One field for each flag."""

    server: str = ""
    username: str = ""
    password_file: str = ""
    token_file: str = ""
    concurrency: str = "auto"
    memory: str = "auto"
    min_threads: int = 1
    cache: str = ""
    grace: float = 60.0
    fleet: bool = False
    once: bool = False
    focus: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    noisy: bool = False
    nice: bool = False
    without_sandbox: bool = False
    allow_private_sources: bool = False
    syzygy: tuple[str, ...] = ()
    syzygy_men: int = 0
    foreign_server: bool = False
    fastchess: str = "fastchess"
    key: str = ""
    no_update: bool = False
    allow_http: bool = False
    trial: bool = False
    retry_seconds: float = 15.0

    @property
    def cache_folder(self) -> Path:
        if self.cache:
            return Path(self.cache).expanduser().absolute()
        return platformdirs.user_cache_path("rookery") / "worker"


NAMES = tuple(one.name for one in fields(WorkerSettings))


def config_file() -> Path:
    """Where the configuration is looked for unless a flag names another file."""
    return platformdirs.user_config_path("rookery") / "worker.toml"


def worker_settings(
    given: Mapping[str, object], file: Path | None, environment: Mapping[str, str] = os.environ
) -> WorkerSettings:
    """All together; raises BadWorkerSetting."""
    named = {name: given[name] for name in NAMES if given.get(name) is not None}
    found: dict[str, Any] = {**from_file(file), **named}
    found.setdefault("server", environment.get(SERVER, ""))
    try:
        return msgspec.convert(found, WorkerSettings)
    except msgspec.ValidationError as error:
        raise BadWorkerSetting(f"The configuration makes no sense: {error}.") from None


def from_file(file: Path | None) -> dict[str, Any]:
    """What the file says; nothing where there is none and none was asked for."""
    place = file or config_file()
    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if file is None:
            return {}
        raise BadWorkerSetting(f"There is no file {file}.") from None
    except OSError as error:
        raise BadWorkerSetting(f"{place} can't be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadWorkerSetting(f"{place} can't be read: {error}.") from None
    if unknown := sorted(found.keys() - set(NAMES)):
        raise BadWorkerSetting(f"{place} has a setting that nobody knows: {unknown[0]}.")
    return found


def credentials(settings: WorkerSettings) -> tuple[str, str]:
    """User name and password, or the token in its place; raises BadWorkerSetting.

    A token's file may hold NAME:TOKEN, so that one file is all a machine needs.
    """
    if settings.token_file:
        name, colon, token = _secret(settings.token_file).rpartition(":")
        user = settings.username or (name if colon else "")
        return _with_name(user), token
    if settings.password_file:
        return _with_name(settings.username), _secret(settings.password_file)
    raise BadWorkerSetting(
        "Whose worker is it? Give --username with --password-file, or --token-file,"
        " or answer `rookery worker configure`."
    )


def _with_name(user: str) -> str:
    if not user:
        raise BadWorkerSetting("Whose worker is it? Give --username.")
    return user


def _secret(file: str) -> str:
    """The last line: a token is often kept as it was printed, with a word before it."""
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise BadWorkerSetting(f"{file} can't be read.") from None
    found = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not found:
        raise BadWorkerSetting(f"There is nothing in {file}.")
    return found
