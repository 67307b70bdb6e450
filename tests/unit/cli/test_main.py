"""The command line's frame."""

import argparse
import sys
from types import ModuleType

import pytest

from rookery.cli import main as frame
from rookery.errors import Complaint


class OutOfPaper(Complaint):
    """There is no paper left."""

    exit_code = 7


def complain(_parsed: argparse.Namespace) -> int:
    raise OutOfPaper("There is no paper left; put some in.")


def interrupt(_parsed: argparse.Namespace) -> int:
    raise KeyboardInterrupt


@pytest.fixture
def one_command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A command line with one command, `print`, whose module is not a file."""
    module = ModuleType("rookery.cli.print")

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(run=module.run)

    module.__dict__["add_arguments"] = add_arguments
    monkeypatch.setitem(sys.modules, "rookery.cli.print", module)
    commands = (
        frame.Command("print", "rookery.cli.print", "prints"),
        frame.Command("fax", "rookery.cli.no_such_module", "faxes"),
    )
    monkeypatch.setattr(frame, "COMMANDS", commands)
    return module


def test_a_command_gives_its_exit_code(one_command: ModuleType) -> None:
    one_command.__dict__["run"] = lambda _parsed: 5
    assert frame.main(["print"]) == 5


def test_a_complaint_is_one_sentence_and_its_exit_code(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    one_command.__dict__["run"] = complain
    assert frame.main(["print"]) == 7
    assert capsys.readouterr().err == "rookery: There is no paper left; put some in.\n"


def test_ctrl_c_ends_with_the_shells_code(one_command: ModuleType) -> None:
    one_command.__dict__["run"] = interrupt
    assert frame.main(["print"]) == 130


def test_a_command_whose_packages_are_missing_says_how_to_get_them(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main(["fax"]) == 3
    assert "pip install 'rookery[server]'" in capsys.readouterr().err


def test_the_overview_lists_every_command(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        frame.main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "prints" in shown
    assert "faxes" in shown


def test_an_unknown_command_is_a_usage_error(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        frame.main(["telex"])
    assert ended.value.code == 2
    assert "telex" in capsys.readouterr().err
