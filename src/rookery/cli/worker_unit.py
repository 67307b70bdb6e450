"""A unit for systemd that keeps a worker running."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rookery.cli.worker_settings import WorkerSettings
from rookery.worker.renewal.renewal import installed_here

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
# Wrong credentials do not become right by trying again.
RestartPreventExitStatus=2 5
KillMode=mixed
TimeoutStopSec={seconds}
Nice=5
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def unit(settings: WorkerSettings, words: Sequence[str]) -> str:
    """Starts this very program with the words it was given."""
    command = " ".join(map(quoted, (*this_program(), "worker", *words)))
    return UNIT.format(command=command, seconds=int(settings.grace) + EXTRA_STOP_SECONDS)


def this_program() -> tuple[str, ...]:
    """How to start it again, whichever version is the newest then."""
    if installed := installed_here():
        return (str(installed.place.launcher),)
    program = Path(sys.argv[0])
    if program.name in ("rookery", "rookery.exe") and program.exists():
        return (str(program.absolute()),)
    return (sys.executable, "-m", "rookery.cli.main")


def quoted(word: str) -> str:
    """As systemd reads words: quotes, and its two signs doubled."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or not word else word
