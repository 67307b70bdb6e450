"""`rookery worker`: plays for a server on this machine."""

import argparse
import asyncio
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.cli.worker_doctor import examine
from rookery.cli.worker_setup import Person, configure, display, unit
from rookery.cli.worker_start import EXIT_CODES, NAMES, config_file, start, worker_settings
from rookery.worker.system import ThisSystem

DESCRIPTION = """\
Asks a server for games, plays them, and tells what came out, until it is stopped. The first Ctrl-C
finishes what ends within --grace and gives the rest back; the second ends it at once."""
EPILOG = """\
examples:

  rookery worker configure
  rookery worker --server https://farm.example.org --token-file worker.token
  rookery worker --print-systemd-unit > ~/.config/systemd/user/rookery-worker.service

With --once the exit code says how it went: 0 played, 3 no work, 4 the run's fault, 5 the server's
(or its refusal), 6 this machine's. Every flag can stand in the configuration file, with _ for -."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "action",
        nargs="?",
        choices=("run", "configure", "doctor"),
        default="run",
        help="configure asks for what a worker needs and writes it down; doctor says what this"
        " machine has, what it can play, and why not",
    )
    _add_server(parser)
    _add_machine(parser)
    _add_life(parser)
    parser.set_defaults(run=run)


def _add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument("--server", metavar="URL", help="where it is [ROOKERY_SERVER]")
    group.add_argument("--username", metavar="NAME", help="whose worker this is")
    # Not the password itself: everybody on a machine can read the words of a command.
    secret = group.add_mutually_exclusive_group()
    secret.add_argument("--password-file", metavar="FILE", help="file with the password")
    secret.add_argument(
        "--token-file", metavar="FILE", help="file with a worker token, or with NAME:TOKEN"
    )
    group.add_argument(
        "--foreign-server",
        action="store_true",
        default=None,
        help="play for another project's server too, with fastchess",
    )
    group.add_argument(
        "--print-systemd-unit",
        action="store_true",
        help="print a unit that keeps this worker running, with these flags",
    )
    group.add_argument("--config", type=Path, metavar="FILE", help="instead of the usual file")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("machine")
    group.add_argument(
        "--concurrency",
        metavar="N",
        help="cores to play on: auto (physical cores but one), 4, MAX, PHYS-1, MAX/2",
    )
    group.add_argument("--memory", metavar="MIB", help="memory to use: auto (all), 8000, MAX/2")
    group.add_argument("--min-threads", type=int, metavar="N", help="refuse runs with fewer")
    group.add_argument(
        "--cache", metavar="DIR", help="sources, nets, books, engines; may be shared"
    )
    group.add_argument(
        "--noisy",
        action="store_true",
        default=None,
        help="other programs use this machine: keep it from runs that need exact times",
    )
    group.add_argument(
        "--nice", action="store_true", default=None, help="let other programs go first"
    )
    group.add_argument(
        "--without-sandbox",
        action="store_true",
        default=None,
        help="where there is no sandbox, let programs of strangers do as they like here",
    )
    group.add_argument(
        "--allow-private-sources",
        action="store_true",
        default=None,
        help="fetch sources from this machine's own files and network, too",
    )
    group.add_argument("--syzygy", action="append", metavar="DIR", help="tablebases")
    group.add_argument("--syzygy-men", type=int, metavar="N", help="complete up to so many men")
    group.add_argument("--fastchess", metavar="FILE", help="for --foreign-server")
    group.add_argument("--key", metavar="NAME", help="name of the machine, 2 to 8 letters")


def _add_life(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("life")
    group.add_argument("--once", action="store_true", default=None, help="one task, then leave")
    group.add_argument("--fleet", action="store_true", default=None, help="leave when out of work")
    group.add_argument("--focus", action="append", metavar="ENGINE", help="these engines first")
    group.add_argument("--only", action="append", metavar="ENGINE", help="these engines alone")
    group.add_argument("--grace", type=float, metavar="SECONDS", help="after Ctrl-C (default: 60)")
    group.add_argument(
        "--no-update", action="store_true", default=None, help="stay at this version for good"
    )
    group.add_argument(
        "--allow-http",
        action="store_true",
        default=None,
        help="take updates from a server that is reached by http",
    )
    group.add_argument("--trial", action="store_true", default=None, help=argparse.SUPPRESS)
    group.add_argument(
        "--retry-seconds",
        type=float,
        metavar="SECONDS",
        help="between two attempts to reach the server (default: 15)",
    )


def run(parsed: argparse.Namespace) -> int:
    if parsed.action == "configure":
        return configure(parsed.config or config_file(), Person())
    settings = worker_settings(vars(parsed), parsed.config)
    if parsed.print_systemd_unit:
        print(unit(settings, words_of(parsed)), end="")
        return 0
    if parsed.action == "doctor":
        findings = asyncio.run(examine(settings, ThisSystem(), Threads()))
        print(findings.text)
        return 0 if findings.sound else 1
    words = ["worker", *words_of(parsed)]
    with display() as watch:
        ended = asyncio.run(start(settings, words, watch))
    if ended.successor is not None:
        return ThisSystem().replace_process([str(ended.successor), *words])
    return EXIT_CODES[ended.outcome]


def words_of(parsed: argparse.Namespace) -> list[str]:
    """The flags that were given, as words again."""
    given = {name: vars(parsed).get(name) for name in (*NAMES, "config")}
    words = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        words += [flag if one is True else f"{flag}={one}" for one in values if one is not None]
    return words
