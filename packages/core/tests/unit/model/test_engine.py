"""Engine records hold the numbers that belong to an engine."""

import pytest

from rookery.core.model.engine import STANDARD, STOCKFISH, EngineRecord, source_address, time_factor


def test_stockfishs_record_holds_the_protocols_numbers() -> None:
    assert STOCKFISH.speed.reference == 628_000
    assert STOCKFISH.speed.least(1) == 180_000
    assert STOCKFISH.memory.machine == 444


def test_many_cores_may_be_slower_each() -> None:
    assert STOCKFISH.speed.least(64) == pytest.approx(45_000, rel=1e-3)


def test_an_engine_without_a_floor_is_never_too_slow() -> None:
    assert EngineRecord(name="Slowmate").speed.least(8) == 0


def test_an_unknown_engine_gets_a_modest_record() -> None:
    assert STANDARD.record("Novice") == EngineRecord(name="Novice")
    assert STANDARD.record("Stockfish") is STOCKFISH


def test_a_slow_machine_thinks_longer() -> None:
    assert time_factor(628_000, 314_000) == 2
    assert time_factor(628_000, 0) == 1


@pytest.mark.parametrize(
    "text",
    [
        "https://git.example.org/owls/Strix",
        " https://git.example.org/owls/Strix.git ",
        "https://git.example.org/owls/Strix/",
        "https://git.example.org/owls/Strix.git/",
        "https://git.example.org/owls/Strix/.git",
        "HTTPS://Git.Example.ORG:443//owls/Strix",
    ],
)
def test_an_address_has_one_form(text: str) -> None:
    assert source_address(text) == "https://git.example.org/owls/Strix"


@pytest.mark.parametrize(
    "text", ["git@Example.org:owls/Strix.git", "ssh://git@example.org:22/owls/Strix"]
)
def test_gits_short_form_is_one_of_ssh(text: str) -> None:
    assert source_address(text) == "ssh://git@example.org/owls/Strix"


def test_what_differs_stays_different() -> None:
    texts = ("https://a.org/x", "http://a.org/x", "https://a.org:8443/x", "https://a.org/X", "x")
    assert len({source_address(text) for text in texts}) == len(texts)
    assert source_address("file:///srv/x.git") == "file:///srv/x"
