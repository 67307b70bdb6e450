"""What scripts/test says about its stages, and about programs that are missing."""

from collections import Counter

import pytest

from scripts import programs
from scripts.lanes import Outcome, table
from scripts.programs import NO_APT, Program, install_programs
from scripts.stages import STAGES


def test_no_stage_names_a_file_twice() -> None:
    twice = [
        (stage.name, word)
        for stage in STAGES
        for word, count in Counter(stage.command).items()
        if word.startswith("tests/") and count > 1
    ]
    assert twice == []


def test_the_columns_of_the_table_begin_at_the_same_place_in_each_row() -> None:
    head, *rows, _ = table([Outcome(stage, 1.0, ok=True) for stage in STAGES], 60.0).splitlines()
    end = head.index("seconds") + len("seconds")
    assert {row[:end].split()[-1] for row in rows} == {"1.0"}


def test_all_programs_that_are_missing_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not root installs them by hand, and would otherwise learn of one after the other."""
    missing = (
        Program(("no-such-proxy",), ("proxy-light",), "the tests of proxies"),
        Program(("no-such-game",), ("game",), "games", needed=False),
        Program(("no-such-compiler",), ("cc-1", "cc-dev"), "the ASGI server in C"),
    )
    monkeypatch.setattr(programs, "PROGRAMS", missing)
    monkeypatch.setenv(NO_APT, "1")
    with pytest.raises(SystemExit) as ended:
        install_programs()
    assert ended.value.code == (
        "scripts/test: the tests of proxies, the ASGI server in C need: apt-get install"
        " proxy-light cc-1 cc-dev"
    )
