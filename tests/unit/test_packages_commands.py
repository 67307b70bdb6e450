"""Commands of all packages, installed beside each other."""

import sys

import pytest

from rookery.cli import main as frame


def test_a_worker_on_windows_says_that_it_needs_linux(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "rookery.worker.commands.worker", raising=False)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert frame.main(["worker"]) == 3
    assert capsys.readouterr().err == (
        "rookery: `rookery worker` needs Linux; on macOS it is untried.\n"
    )


def test_every_command_of_another_package_is_known_to_be_there() -> None:
    found = {
        f"rookery-{name}": {
            each.name for table in frame.read_commands(name).values() for each in table
        }
        for name in frame.PACKAGES
        if name != "cli"
    }
    assert found == {package: set(names) for package, names in frame.ELSEWHERE.items()}
