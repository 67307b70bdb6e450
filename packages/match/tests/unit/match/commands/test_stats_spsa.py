"""`rookery stats spsa`."""

import io
import json
from pathlib import Path

import pytest

from rookery.cli.main import command_line, run_command
from rookery.core.command import BadArgument
from rookery.core.stats.spsa_parameters import SpsaFault

LINES = "P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.2\n"


@pytest.fixture
def lines(tmp_path: Path) -> str:
    path = tmp_path / "tune.txt"
    path.write_text(LINES)
    return str(path)


def run(*words: str) -> int:
    return run_command(command_line("stats"), ["stats", "spsa", *words])


def test_the_steps_and_the_warnings_are_shown(
    lines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lines) == 0
    shown = capsys.readouterr().out
    assert "30000 iterations (pairs), A = 3000" in shown
    assert "warning: Q: r_end 0.2 is far from the usual 0.002" in shown
    assert shown.endswith("setoption name P value 100\nsetoption name Q value 0.5\n")


def test_json_holds_the_same(lines: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lines, "--json", "--at", "1000") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schedule"][0]["c"] == pytest.approx(28.19521435)
    assert report["warnings"] == ["Q: r_end 0.2 is far from the usual 0.002"]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("pairs", "P 104\nQ 0.5\n"),
        ("options", "P=104 Q=0.5\n"),
        ("lines", "P,int,103.6,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.2\n"),
    ],
)
def test_values_are_written_in_the_form_asked_for(
    lines: str, form: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(lines, "--set", "P=103.6", "--form", form)
    assert capsys.readouterr().out.endswith(text)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), (30_000, 3000, 28.195214, 0.003584092)),
        (("--games", "20000"), (10_000, 1000, 25.234003, 0.003504978)),
        (("--A", "0.5"), (30_000, 15_000, 28.195214, 0.001875325)),
        (("--alpha", "0.9"), (30_000, 3000, 28.195214, 0.006721250)),
        (("--gamma", "0.2"), (30_000, 3000, 39.479117, 0.001828079)),
    ],
)
def test_steps_shrink_by_the_schedule_that_is_asked_for(
    lines: str,
    words: tuple[str, ...],
    expected: tuple[float, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(lines, "--json", "--at", "1000", *words) == 0
    told = json.loads(capsys.readouterr().out)
    step = told["schedule"][0]
    found = (told["iterations"], told["stability"], step["c"], step["r"])
    assert found == pytest.approx(expected, rel=1e-6)


def test_options_the_engine_lacks_are_warned_about(
    lines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(lines, "--known", "Hash", "Q")
    assert "warning: P: the engine has no such option" in capsys.readouterr().out


def test_lines_are_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("P,1,0,9,1,0.002"))
    assert run("-") == 0
    assert "setoption name P value 1" in capsys.readouterr().out


def test_a_faulty_line_is_a_complaint(tmp_path: Path) -> None:
    path = tmp_path / "tune.txt"
    path.write_text("P,1,0")
    with pytest.raises(SpsaFault, match="line 1: 3 fields"):
        run(str(path))


@pytest.mark.parametrize("setting", ["X=1", "P=", "P=nan", "P"])
def test_a_senseless_value_is_a_complaint(lines: str, setting: str) -> None:
    with pytest.raises(BadArgument):
        run(lines, "--set", setting)


def test_a_missing_file_is_a_complaint() -> None:
    with pytest.raises(BadArgument, match=r"can't be read: No such file or directory\."):
        run("/nowhere/tune.txt")
