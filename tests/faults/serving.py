"""Makes accounts for all campaigns, and starts, finds and ends their servers."""

import asyncio
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.fleet.fleet import Account
from tests.forks import may_fork, run_forked
from tests.places import PROJECT
from tests.rookery_process import (
    COMMAND,
    SIMULATED,
    RookeryProcess,
    copy_data,
    environment,
    place_data,
    scratch_folder,
)

PASSWORD = "correct horse battery staple"


def made_account(
    data: Path,
    name: str = "fleet",
    password: str = PASSWORD,
    settings: Mapping[str, str] = SIMULATED,
    command: Sequence[str] = COMMAND,
) -> Account:
    """Creates an approver with a token while no server runs."""
    surroundings = environment(detect=False) | dict(settings)
    of_its_own = "ROOKERY_DATABASE_URL" not in settings and not data.exists()
    if of_its_own and may_fork(command, surroundings):
        source, account = _kept_account(name, password)
        copy_data(source, data)
        return account
    return _add_account(data, name, password, surroundings, command)


@cache
def _kept_account(name: str, password: str) -> tuple[Path, Account]:
    """An account in a folder to copy, because creating one takes seconds."""
    data = scratch_folder() / f"account of {name}"
    place_data(data)
    return data, _add_account(data, name, password, environment(detect=False), COMMAND)


def _add_account(
    data: Path, name: str, password: str, surroundings: Mapping[str, str], command: Sequence[str]
) -> Account:
    words = ("user", "add", name, "--password-stdin", "--approver", "--machine-limit=1000000")
    _run(data, surroundings, *command, *words, typed=password)
    said = _run(data, surroundings, *command, "token", "create", "--user", name)
    return Account(name, password, said.split()[-1])


def _run(data: Path, surroundings: Mapping[str, str], *words: str, typed: str = "") -> str:
    line = [*words, f"--data={data}"]
    if may_fork(line, surroundings):
        done = run_forked(line, env=surroundings, typed=typed)
    else:
        done = subprocess.run(
            line,
            cwd=PROJECT,
            env=surroundings,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def start_server(
    data: Path,
    settings: Mapping[str, str],
    command: Sequence[str] = COMMAND,
    *,
    detect: bool = False,
) -> RookeryProcess:
    """Starts a server process without waiting; `wait_for_port` returns when it serves."""
    make = partial(RookeryProcess, ("serve",), data, command, detect=detect, settings=settings)
    return await asyncio.to_thread(make)


async def wait_for_port(server: RookeryProcess) -> int:
    """Waits until the server serves and returns its port; fails if it ends before."""
    ready = await asyncio.to_thread(server.until, "ready")
    return urlsplit(str(ready["address"])).port or 0


async def end_servers(servers: Iterable[RookeryProcess]) -> None:
    for server in servers:
        await asyncio.to_thread(server.end)


def count_corrections(data: Path) -> int:
    """How many sums the servers on a folder have logged as corrected."""
    logs = data.parent.glob(f"{data.name}-*.log")
    return sum(log.read_text().count('"sums_corrected"') for log in logs)
