"""One frozen value with every setting, read from the environment and the command line's flags.

A setting is a field of `Settings` and a row of `SETTINGS`. Its environment variable is `ROOKERY_`
and the field's name in capitals; a flag of the same name takes precedence. A variable that is no
setting, or a value that can't be read, stops the start with an error that names it.
"""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from rookery.core.errors import Complaint
from rookery.server.setting_values import (
    integer,
    one_of,
    read_address,
    read_database,
    read_endpoint,
    read_files_place,
    read_path,
    read_repository,
    read_switch,
    read_text,
    read_words,
    some_of,
)

PREFIX = "ROOKERY_"
# Settings whose values are never shown, not even when they can't be read.
SECRET = frozenset({"database_url", "github_token", "ask_api_key", "smtp_password"})
# Read by the launcher before there is a Python to read settings with.
LAUNCHER_VARIABLES = frozenset({"ROOKERY_PYTHON", "ROOKERY_NO_APT"})
# Read by the commands that call a server, not by the server.
CLIENT_VARIABLES = frozenset({"ROOKERY_SERVER", "ROOKERY_TOKEN"})
# Read by the script that installs a worker, and by the worker it installs.
WORKER_VARIABLES = frozenset({"ROOKERY_ACCOUNT", "ROOKERY_WORKER_HOME"})
NOT_SETTINGS = LAUNCHER_VARIABLES | CLIENT_VARIABLES | WORKER_VARIABLES
# Variables by which other tools ask for several processes, which a server does not support.
PROCESS_COUNT_VARIABLES = ("WEB_CONCURRENCY", "UVICORN_WORKERS")


class SettingsError(Complaint):
    """A setting is wrong; the message names it."""

    exit_code = 2


def _data_folder() -> Path:
    return platformdirs.user_data_path("rookery", appauthor=False)


@dataclass(frozen=True, slots=True)
class Setting:
    """How one field of Settings is read, and what it is for."""

    read: Callable[[str], object]
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of all settings."""

    data: Path = field(default_factory=_data_folder)
    database_url: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    http: str = "uvicorn"
    base_url: str | None = None
    internal_url: str | None = None
    lease_seconds: int = 3
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    threadpool_tokens: int = 200
    task_semaphore_size: int = 5
    event_streams: int = 5000
    cross_approval: bool = False
    login_to_view: bool = False
    sign_up: bool = True
    idle_account_days: int = 28
    stop_run_cpu_hours: int = 100
    complaint_cpu_hours: int = 1
    complaint_days: int = 7
    limit_per_address: bool = False
    cores_per_user: int = 4096
    front_end: bool = True
    simulated_fleet: bool = False
    mind_github_quota: bool = True
    nets_url: str | None = None
    books_repository: str = "https://github.com/official-stockfish/books"
    upload_mb: int = 512
    upload_quota_mb: int = 20_000
    disk_reserve_mb: int = 256
    games_days: int = 1
    long_games_days: int = 10
    played_games_days: int = 50
    files_url: str | None = None
    files_old_url: str | None = None
    files_seconds: int = 8
    files_redirect: bool = False
    head_seconds: int = 30
    body_seconds: int = 30
    git_schemes: tuple[str, ...] = ("https",)
    git_hosts: tuple[str, ...] = ()
    git_credentials: Path | None = None
    mirror_sources: bool = False
    github_token: str = ""
    github_api: str = "https://api.github.com"
    ask_thesaurus: Path | None = None
    smtp_host: str = ""
    smtp_port: int = 587
    smtp_tls: str = "starttls"
    smtp_user: str = ""
    smtp_password: str = ""
    mail_from: str = ""
    webhook_hosts: tuple[str, ...] = ()
    ask_backend: str = "extractive"
    ask_pipeline: str = "direct"
    ask_model_url: str = ""
    ask_model: str = ""
    ask_api_key: str = ""
    ask_first_seconds: int = 30
    ask_answer_seconds: int = 120
    ask_context_tokens: int = 4000
    ask_model_questions: int = 100
    ask_visitor_questions: int = 60
    ask_answers: int = 16
    ask_sessions: int = 100
    ask_retention_days: int = 365
    log_format: str = "auto"
    log_level: str = "info"
    access_log: bool = False
    detect_blocking: bool = False

    @classmethod
    def read(
        cls, environment: Mapping[str, str], flags: Mapping[str, str | None] | None = None
    ) -> "Settings":
        """Reads the settings from a mapping such as `os.environ`; flags that are not None take
        precedence."""
        _refuse_unknown(environment)
        _refuse_several_processes(environment)
        given = {name: text for name, text in (flags or {}).items() if text is not None}
        values: dict[str, object] = {}
        for name in SETTINGS:
            if name in given:
                values[name] = _parse_value(name, given[name], flag_name(name))
            elif variable_name(name) in environment:
                values[name] = _parse_value(
                    name, environment[variable_name(name)], variable_name(name)
                )
        return cls(**values)  # type: ignore[arg-type]  # each value was made by its own reader


SETTINGS: Mapping[str, Setting] = {
    "data": Setting(read_path, "folder for the database and files"),
    "database_url": Setting(
        read_database, "an external PostgreSQL 15+ instead of the embedded one"
    ),
    "host": Setting(read_text, "address to listen on"),
    "port": Setting(integer(0, 65535), "port to listen on; 0 takes a free one"),
    "http": Setting(
        one_of("uvicorn", "rookery-asgi"),
        "HTTP server: uvicorn, or rookery-asgi where it is installed",
    ),
    "base_url": Setting(
        read_address, "the address that people and workers use, if not http://HOST:PORT"
    ),
    "internal_url": Setting(
        read_address,
        "address by which other servers on the same database reach this one, if not by --host",
    ),
    "lease_seconds": Setting(
        integer(2, 60), "seconds of silence after which another server takes over from the primary"
    ),
    "allowed_hosts": Setting(read_words, "further host names to answer to, separated by commas"),
    "trusted_proxies": Setting(
        read_words, "proxies whose X-Forwarded-For is trusted, separated by commas"
    ),
    "threadpool_tokens": Setting(integer(8, 2000), "threads for blocking work"),
    "task_semaphore_size": Setting(
        integer(1, 100), "task requests that may wait for a password check at once"
    ),
    "event_streams": Setting(integer(1, 100_000), "event streams that may be open at once"),
    "cross_approval": Setting(read_switch, "1: approvers can't approve their own runs"),
    "login_to_view": Setting(read_switch, "1: visitors see nothing until they log in"),
    "sign_up": Setting(read_switch, "0: nobody can sign up; `rookery user add` creates accounts"),
    "idle_account_days": Setting(
        integer(0, 3650), "days after which an account that was never used is removed; 0: never"
    ),
    "stop_run_cpu_hours": Setting(
        integer(0, 10**9 - 1), "CPU hours a user must have given before their worker can stop a run"
    ),
    "complaint_cpu_hours": Setting(
        integer(0, 10**9 - 1),
        "CPU hours a user must have given before their complaints about runs count",
    ),
    "complaint_days": Setting(
        integer(0, 3650), "days after sign-up from which a user's complaints about runs count"
    ),
    "limit_per_address": Setting(
        read_switch, "1: the limit of machines applies to each address, not to each user"
    ),
    "cores_per_user": Setting(
        integer(1, 10**9 - 1),
        "cores of one user that may play at once; more with a higher limit of machines",
    ),
    "front_end": Setting(
        read_switch, "0: don't download packages for charts and boards; pages work without them"
    ),
    # ROOKERY_SIMULATED_FLEET, for checks and proofs.
    "simulated_fleet": Setting(
        read_switch, "1: count results that came impossibly fast; only for simulated fleets"
    ),
    "mind_github_quota": Setting(
        read_switch, "0: machines near their GitHub limit get new runs, too"
    ),
    "nets_url": Setting(read_address, "another server for nets: downloads are redirected to it"),
    "books_repository": Setting(
        read_repository,
        "git repository whose `books.json` lists the books of official workers; off: none",
    ),
    "upload_mb": Setting(
        integer(1, 100_000), "largest net, program or book that may be uploaded, in MB"
    ),
    "upload_quota_mb": Setting(
        integer(0, 10**9 - 1), "nets, programs and books that one user may keep, in MB; 0: no limit"
    ),
    "disk_reserve_mb": Setting(
        integer(0, 10**9 - 1), "disk space that uploads leave free for the database, in MB"
    ),
    "games_days": Setting(
        integer(0, 36_500), "days that games are kept after the end of their test; 0: for ever"
    ),
    "long_games_days": Setting(
        integer(0, 36_500),
        "the same for tests with 20 seconds or more, and for deleted ones; 0: for ever",
    ),
    "played_games_days": Setting(
        integer(0, 36_500),
        "days that games are kept after their upload while their test goes on; 0: for ever",
    ),
    "files_url": Setting(
        read_files_place,
        "where files are kept: a folder that all servers share, or s3://bucket/prefix?endpoint=…",
    ),
    "files_old_url": Setting(
        read_files_place,
        "second place, from which files are read that the first one lacks (during a move)",
    ),
    "files_seconds": Setting(integer(1, 60), "seconds that a request to S3 storage may take"),
    "files_redirect": Setting(
        read_switch,
        "1: downloads of nets, books, programs and games are redirected to signed addresses",
    ),
    "head_seconds": Setting(
        integer(1, 600), "seconds within which a request's headers must arrive"
    ),
    "body_seconds": Setting(
        integer(1, 30),
        "seconds within which a small body, or the next piece of a large one, must arrive",
    ),
    "git_schemes": Setting(
        some_of("https", "http", "ssh", "git", "file"),
        "protocols for fetching sources, separated by commas: https, http, ssh, git, file",
    ),
    "git_hosts": Setting(
        read_words, "git servers inside this network that may be called, separated by commas"
    ),
    "git_credentials": Setting(
        read_path, "file with passwords for repositories, as git's `store` helper writes it"
    ),
    "mirror_sources": Setting(read_switch, "1: workers fetch all sources from this server"),
    "github_token": Setting(read_text, "token for GitHub's API, which raises its limit of calls"),
    "github_api": Setting(read_address, "address of GitHub's API"),
    "ask_thesaurus": Setting(read_path, "file with synonyms for questions to Ask"),
    "smtp_host": Setting(read_text, "mail server (SMTP); without one, no mail is sent"),
    "smtp_port": Setting(integer(1, 65535), "port of the mail server"),
    "smtp_tls": Setting(
        one_of("starttls", "tls", "none"),
        "how the connection to the mail server is encrypted: starttls, tls or none",
    ),
    "smtp_user": Setting(read_text, "user name for the mail server, if it needs one"),
    "smtp_password": Setting(read_text, "password for the mail server"),
    "mail_from": Setting(read_text, "address that mail is sent from"),
    "webhook_hosts": Setting(
        read_words,
        "hosts inside this network that webhooks may call, also by http, separated by commas",
    ),
    "ask_backend": Setting(
        one_of("extractive", "openai", "ollama"),
        "what writes answers: extractive (no model), openai (any compatible endpoint) or ollama",
    ),
    "ask_pipeline": Setting(
        one_of("direct", "threaded", "llamaindex"),
        "how answers are made: direct (on the loop), threaded or llamaindex (in threads)",
    ),
    "ask_model_url": Setting(
        read_endpoint, "address of the model, such as https://api.example.org/v1"
    ),
    "ask_model": Setting(read_text, "the model's name"),
    "ask_api_key": Setting(read_text, "API key for the model's endpoint"),
    "ask_first_seconds": Setting(integer(1, 600), "seconds until the model begins to answer"),
    "ask_answer_seconds": Setting(integer(1, 3600), "seconds for a whole answer"),
    "ask_context_tokens": Setting(
        integer(500, 1_000_000), "most tokens that a model is given to read"
    ),
    "ask_model_questions": Setting(
        integer(0, 10**9 - 1), "questions that a user may ask the model per day; 0: no limit"
    ),
    "ask_visitor_questions": Setting(
        integer(0, 10**9 - 1), "questions per hour from one address without an account; 0: none"
    ),
    "ask_answers": Setting(
        integer(1, 1000), "answers that are written at once; further questions are refused"
    ),
    "ask_sessions": Setting(integer(1, 1000), "conversations that one user may keep"),
    "ask_retention_days": Setting(
        integer(0, 36_500), "days after which an unused conversation is removed; 0: never"
    ),
    "log_format": Setting(
        one_of("auto", "console", "json"), "how log lines look: auto, console or json"
    ),
    "log_level": Setting(
        one_of("debug", "info", "warning", "error"),
        "lowest level to log: debug, info, warning or error",
    ),
    "access_log": Setting(read_switch, "1: log a line for each request"),
    "detect_blocking": Setting(read_switch, "1: report calls that block the event loop"),
}


def read_settings(flags: Mapping[str, str | None] | None = None) -> Settings:
    """The settings of this process, from its environment and flags."""
    return Settings.read(read_secret_files(os.environ), flags)


def read_secret_files(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the contents of secret files, as containers provide them:
    ROOKERY_SMTP_PASSWORD_FILE names the file with ROOKERY_SMTP_PASSWORD."""
    found = dict(environment)
    for name in map(variable_name, sorted(SECRET)):
        path = found.pop(f"{name}_FILE", None)
        if path is None:
            continue
        if name in found:
            raise SettingsError(f"{name} and {name}_FILE are both set; unset one")
        try:
            found[name] = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise SettingsError(f"{name}_FILE: {path} can't be read ({reason})") from None
    return found


def variable_name(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def flag_name(name: str) -> str:
    """The command line's flag for a setting."""
    return "--" + name.replace("_", "-")


def _parse_value(name: str, text: str, named: str) -> object:
    try:
        return SETTINGS[name].read(text)
    except ValueError as wrong:
        shown = "" if name in SECRET else f", not {text!r}"
        raise SettingsError(f"{named} takes {wrong}{shown}") from None


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    known = {variable_name(name) for name in SETTINGS} | NOT_SETTINGS
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SettingsError(f"{name} is not a setting of Rookery{hint}")


def _refuse_several_processes(environment: Mapping[str, str]) -> None:
    for name in PROCESS_COUNT_VARIABLES:
        if environment.get(name, "1") != "1":
            raise SettingsError(
                f"{name}={environment[name]} asks for several processes, but a primary is exactly"
                " one; unset it or set it to 1"
            )
