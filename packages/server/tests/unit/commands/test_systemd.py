"""Units for systemd, and what a service tells it."""

import contextlib
import io
import shutil
import socket
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.core.command import BadArgument
from rookery.core.service import tell_service_manager
from rookery.server.commands.db import DatabaseSettings, timer
from rookery.server.commands.serve import ServeSettings, serve
from rookery.server.commands.systemd import SETTINGS_FILE, server_unit

SHARED = ("EnvironmentFile", "User", "WorkingDirectory")


def service_of(unit: str) -> dict[str, str]:
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read_string(unit)
    return dict(parsed["Service"])


def test_the_unit_starts_the_server_with_the_same_words() -> None:
    service = service_of(server_unit(["--port=80", "--base-url=https://a.b/50%"], Path("/srv/d")))
    assert service["ExecStart"].endswith(' serve --port=80 "--base-url=https://a.b/50%%"')


def test_the_server_may_write_its_data_folder_and_nothing_else() -> None:
    service = service_of(server_unit([], Path("/srv/rookery data")))
    assert service["ProtectSystem"] == "strict"
    assert service["ReadWritePaths"] == '"/srv/rookery data"'
    assert service["NoNewPrivileges"] == "yes"


def test_the_server_may_write_the_folders_that_servers_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROOKERY_FILES_URL", "/mnt/farm")
    monkeypatch.setenv("ROOKERY_FILES_OLD_URL", "/mnt/old%20farm")
    service = service_of(print_server_unit(Path("/srv/d")))
    assert service["ReadWritePaths"] == '/srv/d -/mnt/farm "-/mnt/old farm"'


@pytest.mark.parametrize(
    "url",
    ["postgresql://rookery:secret@db1:5433,db2/farm", "postgresql://db1/farm?password=secret"],
)
def test_no_unit_has_the_password_of_the_database(url: str) -> None:
    with pytest.raises(BadArgument, match=r"/etc/rookery\.env") as refused:
        serve(flags=ServeSettings(data="/srv/d", database_url=url), print_systemd_unit=True)
    assert "secret" not in str(refused.value)
    with pytest.raises(BadArgument, match=r"/etc/rookery\.env"):
        timer(folder=Path("/srv/b"), database=DatabaseSettings(data="/srv/d", database_url=url))


def test_a_unit_may_name_a_database_that_asks_for_no_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = "postgresql://rookery@db1:5433,db2:5433/farm?sslmode=verify-full"
    assert main(["serve", "--data=/srv/d", f"--database-url={url}", "--print-systemd-unit"]) == 0
    assert f"--database-url={url}" in capsys.readouterr().out


def test_files_in_a_bucket_are_nothing_to_write_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOKERY_FILES_URL", "s3://bucket/prefix")
    assert service_of(print_server_unit(Path("/srv/d")))["ReadWritePaths"] == "/srv/d"


def print_server_unit(data: Path) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert serve(flags=ServeSettings(data=str(data)), print_systemd_unit=True) == 0
    return shown.getvalue()


def test_a_backup_has_the_settings_the_account_and_the_folder_of_the_server(tmp_path: Path) -> None:
    data = Path("/srv/rookery data")
    words = ["--folder=/srv/b", f"--data={data}", f"--into={tmp_path}"]
    assert main(["db", "timer", *words]) == 0
    backup = service_of((tmp_path / "rookery-backup.service").read_text())
    server = service_of(print_server_unit(data))
    assert [backup[each] for each in SHARED] == [server[each] for each in SHARED]
    assert backup["EnvironmentFile"] == f"-{SETTINGS_FILE}"
    assert '"--data=/srv/rookery data"' in backup["ExecStart"]
    assert '"--data=/srv/rookery data"' in server["ExecStart"]


def test_both_units_of_a_backup_are_shown_with_the_names_of_their_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["db", "timer", "--folder=/srv/b", "--at=04:15"]) == 0
    shown = capsys.readouterr().out
    assert "# rookery-backup.service\n[Unit]" in shown
    assert "OnCalendar=*-*-* 04:15:00" in shown


def test_a_backup_goes_to_the_folder_and_keeps_as_many_as_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["db", "timer", "--folder=/srv/b", "--keep=3"]) == 0
    service = capsys.readouterr().out
    assert "db backup --folder=/srv/b --keep=3" in service


def test_a_backup_at_no_time_of_day_is_refused() -> None:
    with pytest.raises(BadArgument, match="03:30"):
        timer(folder=Path("/srv/b"), at="24:00")


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze, which reads units as systemd does, is not on this machine",
)
def test_systemd_understands_every_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "a folder"
    monkeypatch.setenv("ROOKERY_FILES_URL", str(tmp_path / "a shared folder"))
    timer(folder=tmp_path / "b", database=DatabaseSettings(data=str(data)), into=tmp_path)
    (tmp_path / "rookery.service").write_text(print_server_unit(data))
    units = [str(each) for each in sorted(tmp_path.glob("rookery*"))]
    assert len(units) == 3
    words = ["systemd-analyze", "verify", "--man=no", *units]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_systemd_is_told_when_the_server_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        tell_service_manager("READY=1")
        assert systemd.recv(100) == b"READY=1"


def test_whoever_was_started_otherwise_tells_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell_service_manager("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    tell_service_manager("READY=1")
