"""`rookery user` and `rookery token`, as a person would call them, with a server or without."""

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.commands import add_user, run_command
from tests.process_table import remaining_processes
from tests.rookery_process import run_rookery


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Olga has an account."""
    folder = tmp_path_factory.mktemp("accounts") / "data"
    assert add_user("olga", folder).returncode == 0
    return folder


def test_a_token_is_alone_on_the_last_line(data: Path) -> None:
    made = run_command("token", "create", "--user", "olga", data=data)
    assert made.returncode == 0
    assert made.stdout.splitlines()[-1].startswith("rk_")
    assert remaining_processes(data) == {}


def test_a_worker_token_is_for_workers(data: Path) -> None:
    made = run_command("token", "create", "--user", "olga", "--worker", data=data)
    assert made.stdout.splitlines()[-1].startswith("rkw_")
    refused = run_command(
        "token", "create", "--user", "olga", "--worker", "--scope=read", data=data
    )
    assert refused.returncode == 2


def test_a_token_can_be_listed_and_revoked(data: Path) -> None:
    made = run_command(
        "token", "create", "--user", "olga", "--note", "nightly", "--days=3", data=data
    )
    identity, secret = made.stdout.split()[1], made.stdout.splitlines()[-1]
    assert run_command("token", "revoke", identity, data=data).returncode == 0
    listed = run_command("token", "list", "--user", "olga", data=data).stdout
    (line,) = [line for line in listed.splitlines() if line.startswith(identity)]
    assert "revoked" in line
    assert "nightly" in line
    assert secret not in listed


def listed(data: Path, *words: str) -> list[dict[str, Any]]:
    """The tokens that the command lists, oldest first."""
    found: list[dict[str, Any]] = json.loads(
        run_command("token", "list", *words, "--json", data=data).stdout
    )["tokens"]
    return found


def test_a_token_is_for_what_it_was_made_for_and_for_so_many_days(data: Path) -> None:
    words = ("--scope=read", "--scope=submit", "--days=3")
    run_command("token", "create", "--user", "olga", *words, data=data)
    token = listed(data)[-1]
    assert sorted(token["scopes"]) == ["read", "submit"]
    lasts = datetime.fromisoformat(token["expires"]) - datetime.fromisoformat(token["created"])
    assert lasts == timedelta(days=3)


def test_the_tokens_of_one_user_are_listed(data: Path) -> None:
    add_user("carla", data)
    for user in ("olga", "carla"):
        run_command("token", "create", "--user", user, data=data)
    (hers,) = listed(data, "--user=carla")
    assert hers in listed(data)
    assert hers not in listed(data, "--user=olga")


def test_an_account_has_what_it_was_added_with(data: Path) -> None:
    words = ("--email=dora@example.org", "--approver", "--machine-limit=7")
    assert add_user("dora", data, *words).stdout == "Added dora, an approver.\n"
    query = "SELECT email, groups, machine_limit FROM users WHERE name = 'dora';\n"
    shown = run_command("db", "shell", data=data, typed=query).stdout
    assert "dora@example.org | {group:approvers} |             7" in shown


def test_a_net_belongs_to_the_engine_that_it_was_added_for(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "kestrel.bin"
    file.write_bytes(b"weights of a kestrel")
    words = ("--user", "olga", "--engine", "Fledgling")
    assert run_command("net", "add", str(file), *words, data=data).returncode == 0
    query = "SELECT engine FROM file_engines;\n"
    assert "Fledgling" in run_command("db", "shell", data=data, typed=query).stdout


def test_who_is_unknown_is_said(data: Path) -> None:
    for words in (("token", "create", "--user", "nobody"), ("user", "block", "nobody")):
        refused = run_command(*words, data=data)
        assert (refused.returncode, refused.stderr) == (
            3,
            "rookery: There is no user named nobody.\n",
        )
    unknown = run_command("token", "revoke", "ffffff", data=data)
    assert unknown.stderr == "rookery: There is no token ffffff.\n"


def test_a_name_is_taken_once(data: Path) -> None:
    again = add_user("olga", data)
    assert again.returncode == 3
    assert again.stderr == "rookery: There is already a user named olga.\n"


def test_a_weak_password_is_refused(data: Path) -> None:
    weak = run_command("user", "add", "sven", "--password-stdin", data=data, typed="password\n")
    assert (weak.returncode, "too easy to guess" in weak.stderr) == (2, True)


def test_without_a_person_a_password_must_be_given(data: Path) -> None:
    silent = run_command("user", "passwd", "olga", data=data)
    assert (silent.returncode, "--password-stdin" in silent.stderr) == (2, True)


def test_users_are_blocked_and_let_in_again(data: Path) -> None:
    assert run_command("user", "block", "olga", data=data).stdout == "Blocked olga.\n"
    assert "blocked" in run_command("user", "list", data=data).stdout
    assert run_command("user", "unblock", "olga", data=data).stdout == "Unblocked olga.\n"
    assert "blocked" not in run_command("user", "list", data=data).stdout


def test_the_commands_work_while_the_server_runs(data: Path) -> None:
    with run_rookery(data) as server:
        assert server.until("ready")
        added = add_user("boris", data, "--approver", "--machine-limit", "1000000")
        assert added.stdout == "Added boris, an approver.\n"
        made = run_command("token", "create", "--user", "boris", data=data)
        assert made.stdout.splitlines()[-1].startswith("rk_")
        assert server.stop() == 0


def test_a_net_is_taken_once_and_listed(data: Path, tmp_path: Path) -> None:
    content = b"some weights"
    file = tmp_path / f"nn-{hashlib.sha256(content).hexdigest()[:12]}.nnue"
    file.write_bytes(content)
    added = run_command("net", "add", str(file), "--user", "olga", data=data)
    assert (added.returncode, added.stdout.startswith(f"Added {file.name}")) == (0, True)
    assert file.name in run_command("net", "list", data=data).stdout
    assert run_command("net", "add", str(file), "--user", "olga", data=data).returncode == 3
    assert run_command("net", "add", str(file), "--user", "nobody", data=data).returncode == 3
    assert (
        run_command("net", "add", str(tmp_path / "no"), "--user", "olga", data=data).returncode == 2
    )


def test_an_account_is_put_into_groups_and_limited(data: Path) -> None:
    assert run_command("user", "groups", "olga", "approvers", data=data).returncode == 0
    assert run_command("user", "limit", "olga", "3", data=data).returncode == 0
    assert "may keep 7 MB" in run_command("user", "quota", "olga", "7", data=data).stdout
    listed = run_command("user", "list", data=data).stdout.splitlines()
    (line,) = [line for line in listed if line.startswith("olga")]
    assert line.split()[1:3] == ["approver", "3"]
    assert line.endswith(" of 7")
    refused = run_command("user", "reject", "olga", data=data)
    assert "Only an account that waits" in refused.stderr
