"""Units for systemd, and what a service tells it."""

import socket
from configparser import RawConfigParser
from pathlib import Path

import pytest

from rookery.cli.systemd import server_unit, tell_service_manager


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
