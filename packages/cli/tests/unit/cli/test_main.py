"""The command line's frame."""

import asyncio
import sys
from types import ModuleType
from typing import Annotated

import pytest
from cyclopts import Parameter

from rookery.cli import main as frame
from rookery.core.command import Bounds, Command, single
from rookery.core.errors import Complaint


class OutOfPaper(Complaint):
    """There is no paper left."""

    exit_code = 7


def complain() -> int:
    raise OutOfPaper("There is no paper left; put some in.")


def interrupt() -> int:
    raise KeyboardInterrupt


async def wait() -> int:
    await asyncio.sleep(0)
    return 6


@pytest.fixture
def one_command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a command line with one command, `print`, whose module is not a file."""
    module = ModuleType("rookery.cli.print")
    monkeypatch.setitem(sys.modules, "rookery.cli.print", module)
    commands = (
        Command("print", "rookery.cli.print:run", "prints"),
        Command("fax", "rookery.cli.no_such_module:run", "faxes"),
    )
    monkeypatch.setattr(frame, "list_commands", lambda: (("Office", each) for each in commands))
    return module


def test_a_command_gives_its_exit_code(one_command: ModuleType) -> None:
    one_command.__dict__["run"] = lambda: 5
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
    assert "rookery.cli.no_such_module" in capsys.readouterr().err


def test_a_command_may_wait(one_command: ModuleType) -> None:
    one_command.__dict__["run"] = wait
    assert frame.main(["print"]) == 6


def test_the_overview_lists_every_command_by_group_and_loads_none(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "Office:\n  print  prints" in shown
    assert "faxes" in shown


def test_no_command_at_all_is_a_usage_error(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main([]) == 2
    assert "prints" in capsys.readouterr().out


def test_a_misspelt_command_is_a_usage_error_that_says_what_was_meant(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main(["prnt"]) == 2
    said = 'Unknown command "prnt". Did you mean "print"? See `rookery --help`.'
    assert capsys.readouterr().err == f"rookery: {said}\n"


def test_a_misspelt_flag_says_what_was_meant(
    one_command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*, colour: bool = False) -> None:
        """Print."""

    one_command.__dict__["run"] = run
    assert frame.main(["print", "--color"]) == 2
    said = "Unknown option: --color. Did you mean --colour? See `rookery print --help`."
    assert capsys.readouterr().err == f"rookery: {said}\n"


def read_days(text: str) -> int:
    """Read what a command limits itself."""
    if not text.isdecimal() or not 1 <= int(text) <= 3650:
        raise ValueError("expected a whole number from 1 to 3650.")
    return int(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--copies", "2"], "RUN is missing."),
        (["run", "--copies"], "--copies needs a value."),
        (
            ["run", "--copies", "x"],
            'Invalid value for --copies: can\'t read "x" as a whole number.',
        ),
        (["run", "x"], 'Invalid value for LIMIT: can\'t read "x" as a whole number.'),
        (["run", "1", "x"], "Invalid value for MOST: expected a whole number from 1 to 3650."),
        (["run", "--wdl", "1", "2"], "--wdl takes 3 values. Only got 2."),
    ],
)
def test_what_is_missing_or_no_number_is_named(
    one_command: ModuleType, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(
        run: str,
        limit: int = 1,
        most: Annotated[int, Parameter(converter=single(read_days))] = 1,
        /,
        *,
        copies: int = 1,
        wdl: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """Print."""

    one_command.__dict__["run"] = run
    assert frame.main(["print", *words]) == 2
    assert capsys.readouterr().err == f"rookery: {said} See `rookery print --help`.\n"


def test_of_a_flag_that_is_given_twice_the_last_counts(one_command: ModuleType) -> None:
    given = []

    def run(*, copies: int = 1) -> None:
        given.append(copies)

    one_command.__dict__["run"] = run
    assert frame.main(["print", "--copies=2", "--copies", "3"]) == 0
    assert given == [3]


@pytest.mark.parametrize(
    "words",
    [["--sprt", "-1.5", "5"], ["--sprt", "-1.5,5"], ["--sprt=-1.5,5"], ["--sprt", "[-1.5, 5]"]],
)
def test_bounds_are_given_in_any_of_three_ways(one_command: ModuleType, words: list[str]) -> None:
    given = []

    def run(word: str, /, *, sprt: Bounds = None, dry: bool = False) -> None:
        given.append((word, sprt, dry))

    one_command.__dict__["run"] = run
    assert frame.main(["print", *words, "word", "--dry"]) == 0
    assert given == [("word", (-1.5, 5.0), True)]


@pytest.mark.parametrize("text", ["0", "0,x", "1,2,3", "0,inf"])
def test_what_are_no_bounds_gets_the_same_sentence_everywhere(
    one_command: ModuleType, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*, sprt: Bounds = None) -> None:
        """Test."""

    one_command.__dict__["run"] = run
    assert frame.main(["print", "--sprt", text]) == 2
    said = f"Invalid value for --sprt: expected two numbers such as 0 5 or 0,5, not {text!r}."
    assert capsys.readouterr().err == f"rookery: {said} See `rookery print --help`.\n"


def test_a_command_of_a_package_that_is_not_installed_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frame, "PACKAGES", ("cli",))
    assert frame.main(["serve"]) == 3
    assert "pip install rookery-server" in capsys.readouterr().err
