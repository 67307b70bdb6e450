"""`rookery worker`: plays for a server on this machine.

The worker itself is imported only when one is started, so that the help is shown quickly.
"""

import asyncio

# A worker needs Linux: where this module is missing, the command says so before it does anything.
import resource  # noqa: F401
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from rookery.core.command import BadArgument, as_words, option
from rookery.core.service import quoted, this_program
from rookery.worker.commands.settings import (
    THERE,
    WorkerFlags,
    WorkerSettings,
    config_file,
    worker_settings,
)

NO_FLAGS = WorkerFlags()


def worker(
    action: Annotated[
        Literal["run", "configure", "doctor"],
        option(
            "configure asks for the settings and saves them; doctor shows what this machine has,"
            " and what it can or can't play"
        ),
    ] = "run",
    /,
    *,
    flags: WorkerFlags = NO_FLAGS,
    print_systemd_unit: Annotated[
        bool,
        option("print a unit that keeps this worker running, with these flags", group=THERE),
    ] = False,
    config: Annotated[
        Path | None,
        option("configuration file (default: ~/.config/rookery/worker.toml)", "FILE", group=THERE),
    ] = None,
) -> int:
    """Play games for a server on this machine, until stopped.

    The first Ctrl-C finishes games that end within --grace and returns the others to the server;
    the second stops at once.

    With --once the exit code says how it went: 0 played, 3 no work, 4 the run's fault, 5 the
    server's (or its refusal), 6 this machine's. Every flag can also be set in the configuration
    file, with _ for -.

    examples:

      rookery worker configure
      rookery worker --server https://farm.example.org --token-file worker.token
      rookery worker --print-systemd-unit > ~/.config/systemd/user/rookery-worker.service
    """
    if action == "configure":
        from rookery.worker.commands.setup import Person, configure

        return configure(config or config_file(), Person())
    if flags.password_file and flags.token_file:
        raise BadArgument("Give --password-file or --token-file, not both.")
    settings = worker_settings(flags, config)
    words = given_words(flags, config)
    if print_systemd_unit:
        print(unit(settings, words), end="")
        return 0
    return _examine(settings) if action == "doctor" else _play(settings, words)


def _examine(settings: WorkerSettings) -> int:
    from rookery.core.boundary.offload import Threads
    from rookery.worker.commands.setup import examine
    from rookery.worker.system import ThisSystem

    findings = asyncio.run(examine(settings, ThisSystem(), Threads()))
    findings.show()
    return 0 if findings.sound else 1


def _play(settings: WorkerSettings, words: Sequence[str]) -> int:
    """Play until the worker is stopped. If a newer version was installed meanwhile, continue with
    that."""
    from rookery.worker.commands.start import EXIT_CODES, display, start
    from rookery.worker.system import ThisSystem

    with display() as watch:
        ended = asyncio.run(start(settings, ["worker", *words], watch))
    if ended.successor is not None:
        return ThisSystem().replace_process([str(ended.successor), "worker", *words])
    return EXIT_CODES[ended.outcome]


def given_words(flags: WorkerFlags, config: Path | None) -> list[str]:
    """Return the given flags, as words of a command line."""
    return [*as_words(flags), *([f"--config={config}"] if config else [])]


# A unit for systemd that keeps a worker running.

EXTRA_STOP_SECONDS = 30
UNIT = """\
# Put it into /etc/systemd/system/rookery-worker.service (or ~/.config/systemd/user/), then:
#   systemctl enable --now rookery-worker
[Unit]
Description=Rookery worker
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={command}
Restart=always
RestartSec=60
# Trying again does not help against wrong credentials.
RestartPreventExitStatus=2 5
KillMode=mixed
TimeoutStopSec={seconds}
Nice=5
# The worker limits each sandbox by a control group below its own.
Delegate=memory pids
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def unit(settings: WorkerSettings, words: Sequence[str]) -> str:
    """Return the systemd unit that starts this program with the same words."""
    command = " ".join(map(quoted, (*_newest_program(), "worker", *words)))
    return UNIT.format(command=command, seconds=int(settings.grace) + EXTRA_STOP_SECONDS)


def _newest_program() -> tuple[str, ...]:
    """Return the launcher of an installation that updates itself, else this program."""
    from rookery.worker.renewal.renewal import installed_here

    installed = installed_here()
    return (str(installed.place.launcher),) if installed else this_program()
