"""Units for systemd that start this program again, and what a service tells systemd."""

import contextlib
import os
import pwd
import socket
import sys
from collections.abc import Sequence
from pathlib import Path


def this_program() -> tuple[str, ...]:
    """The command that starts the newest version of this program."""
    from rookery.worker.renewal.renewal import installed_here

    if installed := installed_here():
        return (str(installed.place.launcher),)
    program = Path(sys.argv[0])
    if program.name in ("rookery", "rookery.exe") and program.exists():
        return (str(program.absolute()),)
    return (sys.executable, "-m", "rookery.cli.main")


def quoted(word: str) -> str:
    """A word as systemd reads it: quoted, with % and $ doubled."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or not word else word


SERVER_UNIT = """\
# Put it into /etc/systemd/system/rookery.service, then: systemctl enable --now rookery
# Settings and secrets that are no flags: ROOKERY_...=... lines in /etc/rookery.env (mode 0600).
[Unit]
Description=Rookery
Wants=network-online.target
After=network-online.target postgresql.service
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart={command}
EnvironmentFile=-/etc/rookery.env
Environment=ROOKERY_LOG_FORMAT=json
User={user}
WorkingDirectory={data}
Restart=always
RestartSec=2
TimeoutStartSec=10min
# The stop begins with the server and not with its database.
KillMode=mixed
TimeoutStopSec=30
LimitNOFILE=65536
UMask=0077

NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths={data}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
"""
ORDINARY_USER = "rookery"


def server_unit(words: Sequence[str], data: Path) -> str:
    """A unit that keeps a server running with these words, and lets it write its data alone."""
    command = " ".join(map(quoted, (*this_program(), "serve", *words)))
    user = pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else ORDINARY_USER
    return SERVER_UNIT.format(command=command, user=user, data=quoted(str(data)))


def tell_service_manager(state: str) -> None:
    """Says READY=1 or STOPPING=1 to whoever started this service, if that wants to know."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return
    # A name that begins with @ is one of the kernel's own, outside of any folder.
    address = f"\0{place[1:]}" if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(state.encode(), address)
