"""Units for systemd that start a server and its backups."""

import os
import pwd
import re
from collections.abc import Sequence
from pathlib import Path

from rookery.core.command import BadArgument
from rookery.core.service import quoted, this_program

# All units of a server read the same settings, run as the same account and use the same folder.

SETTINGS_FILE = Path("/etc/rookery.env")
ORDINARY_USER = "rookery"
SERVER_UNIT = """\
# Put it into /etc/systemd/system/rookery.service, then: systemctl enable --now rookery
# Settings and secrets that have no flags: ROOKERY_...=... lines in {settings} (mode 0600).
[Unit]
Description=Rookery
Wants=network-online.target
After=network-online.target postgresql.service remote-fs.target
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart={command}
EnvironmentFile=-{settings}
Environment=ROOKERY_LOG_FORMAT=json
User={user}
WorkingDirectory={place}
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
# Nothing else can be written: a folder that ROOKERY_FILES_URL names has to be here too, with a
# minus before it, so that the server starts while it is away.
ReadWritePaths={writable}
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
BACKUP_SERVICE = """\
[Unit]
Description=Backup of Rookery
After=network-online.target rookery.service
# A server whose data folder has a long name keeps its socket in its own temporary folder.
JoinsNamespaceOf=rookery.service

[Service]
Type=oneshot
# The settings and the account of the server; root may read neither its socket nor its folder.
ExecStart={command}
EnvironmentFile=-{settings}
User={user}
WorkingDirectory={place}
UMask=0077
PrivateTmp=yes
NoNewPrivileges=yes
"""
BACKUP_TIMER = """\
# Put it and rookery-backup.service into /etc/systemd/system, then:
#   systemctl daemon-reload && systemctl enable --now rookery-backup.timer
[Unit]
Description=Backup of Rookery, once a day

[Timer]
OnCalendar=*-*-* {at}:00
Persistent=true
RandomizedDelaySec=300

[Install]
WantedBy=timers.target
"""


def server_unit(words: Sequence[str], data: Path, shared: Sequence[Path] = ()) -> str:
    """Return a unit that keeps a server running with these words. The server may write only its
    data and the shared folders of files."""
    writable = [quoted(str(data)), *(quoted(f"-{folder}") for folder in shared)]
    return _fill(SERVER_UNIT, ("serve", *words), data, writable)


def backup_units(words: Sequence[str], data: Path, at: str) -> dict[str, str]:
    """Return a service that runs `rookery db backup` with these words, and a timer that starts it
    every day, by their file names."""
    return {
        "rookery-backup.service": _fill(BACKUP_SERVICE, ("db", "backup", *words), data),
        "rookery-backup.timer": BACKUP_TIMER.format(at=at),
    }


_WITH_PASSWORD = re.compile(r"--database-url=.*(//[^/?#]*:[^/?#@]+@|[?&]password=.)")


def _fill(unit: str, words: Sequence[str], data: Path, writable: Sequence[str] = ()) -> str:
    if any(map(_WITH_PASSWORD.match, words)):
        raise BadArgument(
            "Everybody on this machine can read a unit, and the words that a program was started "
            "with: leave --database-url away, and put ROOKERY_DATABASE_URL with its password into "
            f"{SETTINGS_FILE} (mode 0600)."
        )
    return unit.format(
        command=" ".join(map(quoted, (*this_program(), *words))),
        settings=SETTINGS_FILE,
        user=pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else ORDINARY_USER,
        writable=" ".join(writable),
        # systemd reads it to the end of the line: quotes would be part of the name.
        place=str(data).replace("%", "%%"),
    )
