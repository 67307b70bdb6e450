"""One frozen value with every setting, read from the environment and the command line's flags.

A setting is declared once, as a field of `Settings` that is annotated with how it is read and what
it is for; the flags of `rookery serve` and the table in docs/operate.md are made from that. Its
environment variable is `ROOKERY_` and the field's name in capitals; a flag takes precedence. A
variable that is no setting, or a value that can't be read, stops the start with an error that names
it. One table of declarations is one module, though it is long.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, get_type_hints

import platformdirs

from rookery.core.errors import Complaint
from rookery.server.setting_values import (
    ASK,
    FILES,
    LOG,
    MESSAGES,
    PEOPLE,
    SERVER,
    SEVERAL,
    SOURCES,
    Setting,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of all settings. Fields without a Setting are limits that only tests and
    benchmarks change."""

    data: Annotated[Path, SERVER(read_path, "folder for the database and files", flag=True)] = (
        field(default_factory=_data_folder)
    )
    database_url: Annotated[
        str | None,
        SERVER(
            read_database,
            "an external PostgreSQL 15+ instead of the embedded one",
            "also several hosts, separated by commas; no transaction pooler",
            flag=True,
            secret=True,
        ),
    ] = None
    host: Annotated[str, SERVER(read_text, "address to listen on", flag=True)] = "127.0.0.1"
    port: Annotated[
        int, SERVER(integer(0, 65535), "port to listen on; 0 takes a free one", flag=True)
    ] = 8000
    http: Annotated[
        str,
        SERVER(
            one_of("uvicorn", "rookery-asgi"),
            "HTTP server: uvicorn, or rookery-asgi where it is installed",
            flag=True,
        ),
    ] = "uvicorn"
    base_url: Annotated[
        str | None,
        SERVER(
            read_address,
            "the address that people and workers use, if not http://HOST:PORT",
            flag=True,
        ),
    ] = None
    allowed_hosts: Annotated[
        tuple[str, ...],
        SERVER(
            read_words,
            "further host names to answer to, separated by commas",
            "besides those of this server's own addresses",
            flag=True,
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[str, ...],
        SERVER(
            read_words,
            "proxies whose X-Forwarded-For is trusted, separated by commas",
            "also `X-Forwarded-Proto` and `X-Country-Code`",
            flag=True,
        ),
    ] = ()
    threadpool_tokens: Annotated[
        int, SERVER(integer(8, 2000), "threads for blocking work", flag=True)
    ] = 200
    task_semaphore_size: Annotated[
        int,
        SERVER(
            integer(1, 100),
            "task requests that may wait for a password check at once",
            "the others are told that the server is busy",
            flag=True,
        ),
    ] = 5
    front_end: Annotated[
        bool,
        SERVER(
            read_switch, "0: don't download packages for charts and boards; pages work without them"
        ),
    ] = True
    internal_url: Annotated[
        str | None,
        SEVERAL(
            read_address,
            "address by which other servers on the same database reach this one, if not by --host",
            "needed where servers on several machines listen behind proxies or NAT",
        ),
    ] = None
    lease_seconds: Annotated[
        int,
        SEVERAL(
            integer(2, 60),
            "seconds of silence after which another server takes over from the primary",
            "not with the embedded database",
        ),
    ] = 3
    login_to_view: Annotated[
        bool, PEOPLE(read_switch, "1: visitors see nothing until they log in")
    ] = False
    sign_up: Annotated[
        bool, PEOPLE(read_switch, "0: nobody can sign up; `rookery user add` creates accounts")
    ] = True
    cross_approval: Annotated[
        bool, PEOPLE(read_switch, "1: approvers can't approve their own runs", flag=True)
    ] = False
    idle_account_days: Annotated[
        int,
        PEOPLE(
            integer(0, 3650),
            "days after which an account that was never used is removed; 0: never",
            "not on a closed site",
        ),
    ] = 28
    limit_per_address: Annotated[
        bool,
        PEOPLE(
            read_switch,
            "1: the limit of machines applies to each address, not to each user",
            flag=True,
        ),
    ] = False
    mind_github_quota: Annotated[
        bool,
        PEOPLE(read_switch, "0: machines near their GitHub limit get new runs, too", flag=True),
    ] = True
    simulated_fleet: Annotated[
        bool,
        PEOPLE(
            read_switch,
            "1: count results that came impossibly fast; only for simulated fleets",
            "every page says so",
        ),
    ] = False
    files_url: Annotated[
        str | None,
        FILES(
            read_files_place,
            "place of the files: a folder that all servers share, or s3://bucket/prefix?endpoint=…",
            "`blobs` in the data folder unless named",
        ),
    ] = None
    files_old_url: Annotated[
        str | None,
        FILES(
            read_files_place,
            "second place, from which files are read that the first one lacks (during a move)",
        ),
    ] = None
    files_redirect: Annotated[
        bool,
        FILES(
            read_switch,
            "1: downloads of nets, books, programs and games are redirected to signed addresses",
        ),
    ] = False
    nets_url: Annotated[
        str | None,
        FILES(read_address, "another server for nets: downloads are redirected to it", flag=True),
    ] = None
    upload_mb: Annotated[
        int, FILES(integer(1, 100_000), "largest net, program or book that may be uploaded, in MB")
    ] = 512
    upload_quota_mb: Annotated[
        int,
        FILES(
            integer(0, 10**9 - 1),
            "nets, programs and books that one user may keep, in MB; 0: no limit",
            "`rookery user quota NAME MB` sets another for one user",
        ),
    ] = 20_000
    disk_reserve_mb: Annotated[
        int,
        FILES(integer(0, 10**9 - 1), "disk space that uploads leave free for the database, in MB"),
    ] = 256
    games_days: Annotated[
        int,
        FILES(
            integer(0, 36_500), "days that games are kept after the end of their test; 0: for ever"
        ),
    ] = 1
    long_games_days: Annotated[
        int,
        FILES(
            integer(0, 36_500),
            "the same for tests with 20 seconds or more, and for deleted ones; 0: for ever",
        ),
    ] = 10
    git_schemes: Annotated[
        tuple[str, ...],
        SOURCES(
            some_of("https", "http", "ssh", "git", "file"),
            "protocols for fetching sources, separated by commas: https, http, ssh, git, file",
        ),
    ] = ("https",)
    git_hosts: Annotated[
        tuple[str, ...],
        SOURCES(
            read_words, "git servers inside this network that may be called, separated by commas"
        ),
    ] = ()
    git_credentials: Annotated[
        Path | None,
        SOURCES(
            read_path, "file with passwords for repositories, as git's `store` helper writes it"
        ),
    ] = None
    mirror_sources: Annotated[
        bool, SOURCES(read_switch, "1: workers fetch all sources from this server")
    ] = False
    github_token: Annotated[
        str,
        SOURCES(
            read_text,
            "token for GitHub's API, which raises its limit of calls",
            "5,000 calls an hour instead of 60",
            secret=True,
        ),
    ] = ""
    github_api: Annotated[str, SOURCES(read_address, "address of GitHub's API")] = (
        "https://api.github.com"
    )
    books_repository: Annotated[
        str,
        SOURCES(
            read_repository,
            "git repository whose `books.json` lists the books of official workers; off: none",
        ),
    ] = "https://github.com/official-stockfish/books"
    smtp_host: Annotated[
        str, MESSAGES(read_text, "mail server (SMTP); without one, no mail is sent")
    ] = ""
    smtp_port: Annotated[int, MESSAGES(integer(1, 65535), "port of the mail server")] = 587
    smtp_tls: Annotated[
        str,
        MESSAGES(
            one_of("starttls", "tls", "none"),
            "how the connection to the mail server is encrypted: starttls, tls or none",
        ),
    ] = "starttls"
    smtp_user: Annotated[
        str, MESSAGES(read_text, "user name for the mail server, if it needs one")
    ] = ""
    smtp_password: Annotated[
        str, MESSAGES(read_text, "password for the mail server", secret=True)
    ] = ""
    mail_from: Annotated[
        str,
        MESSAGES(
            read_text, "address that mail is sent from", "such as `Rookery <rookery@example.org>`"
        ),
    ] = ""
    webhook_hosts: Annotated[
        tuple[str, ...],
        MESSAGES(
            read_words,
            "hosts inside this network that webhooks may call, also by http, separated by commas",
        ),
    ] = ()
    ask_backend: Annotated[
        str,
        ASK(
            one_of("extractive", "openai", "ollama"),
            "what writes answers: extractive (no model), openai (any such endpoint) or ollama",
        ),
    ] = "extractive"
    ask_pipeline: Annotated[
        str,
        ASK(
            one_of("direct", "threaded", "llamaindex"),
            "how answers are made: direct (on the loop), threaded or llamaindex (in threads)",
        ),
    ] = "direct"
    ask_model_url: Annotated[
        str, ASK(read_endpoint, "address of the model, such as https://api.example.org/v1")
    ] = ""
    ask_model: Annotated[str, ASK(read_text, "the model's name")] = ""
    ask_api_key: Annotated[str, ASK(read_text, "API key for the model's endpoint", secret=True)] = (
        ""
    )
    ask_context_tokens: Annotated[
        int, ASK(integer(500, 1_000_000), "most tokens that a model is given to read")
    ] = 4000
    ask_model_questions: Annotated[
        int,
        ASK(
            integer(0, 10**9 - 1),
            "questions that a user may ask the model per day; 0: no limit",
            "further ones are answered without it",
        ),
    ] = 100
    ask_retention_days: Annotated[
        int,
        ASK(
            integer(0, 36_500),
            "days after which an unused conversation is removed; 0: never",
            "a temporary one goes after a day",
        ),
    ] = 365
    ask_thesaurus: Annotated[
        Path | None,
        ASK(
            read_path,
            "file with synonyms for questions to Ask",
            "a group of words per line; those before a `>` widen only to those after it",
        ),
    ] = None
    log_format: Annotated[
        str,
        LOG(
            one_of("auto", "console", "json"),
            "how log lines look: auto, console or json",
            "auto is console on a terminal, else json",
            flag=True,
        ),
    ] = "auto"
    log_level: Annotated[
        str,
        LOG(
            one_of("debug", "info", "warning", "error"),
            "lowest level to log: debug, info, warning or error",
            "of one kind of line at most fifty are written in ten seconds",
            flag=True,
        ),
    ] = "info"
    access_log: Annotated[
        bool, LOG(read_switch, "1: log a line for each request", flag=True, switch=True)
    ] = False
    detect_blocking: Annotated[
        bool,
        LOG(
            read_switch,
            "1: report calls that block the event loop",
            "for development",
            flag=True,
            switch=True,
        ),
    ] = False

    cores_per_user: int = 4096
    """Cores of one user that may play at once; more with a higher limit of machines."""

    stop_run_cpu_hours: int = 100
    """CPU hours a user must have given before their worker can stop a run."""

    complaint_cpu_hours: int = 1
    """CPU hours a user must have given before their complaints about runs count."""

    complaint_days: int = 7
    """Days after sign-up from which a user's complaints about runs count."""

    event_streams: int = 5000

    played_games_days: int = 50
    """Days that games are kept after their upload while their test goes on."""

    files_seconds: int = 8
    """Seconds that a request to S3 storage may take."""

    head_seconds: int = 30
    """Seconds within which a request's headers must arrive."""

    body_seconds: int = 30
    """Seconds within which a small body, or the next piece of a large one, must arrive."""

    ask_visitor_questions: int = 60
    """Questions per hour from one address without an account."""

    ask_answers: int = 16
    """Answers that are written at once; further questions are refused."""

    ask_sessions: int = 100
    """Conversations that one user may keep."""

    ask_first_seconds: int = 30
    """Seconds until the model begins to answer."""

    ask_answer_seconds: int = 120
    """Seconds for a whole answer."""

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


def _declared() -> Iterator[tuple[str, Setting]]:
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        for setting in getattr(hint, "__metadata__", ()):
            yield name, setting


SETTINGS: Mapping[str, Setting] = dict(_declared())
SECRET = frozenset(name for name, declared in SETTINGS.items() if declared.secret)


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
