"""What an engine is told before it plays: what differs from what it reports."""

import asyncio
import sys
from dataclasses import replace

import pytest

from rookery.core.boundary.offload import Threads
from rookery.match.job import EngineSpec, EngineTimeouts
from rookery.match.uci import UciEngine

ENGINE = """
import sys
for line in sys.stdin:
    if line.startswith("uci\\n"):
        print("\\n".join(f"option name {each}" for each in sys.argv[1:]))
        print("uciok", flush=True)
    if line.startswith("quit"):
        break
"""
REPORTED = (
    "Threads type spin default 1 min 1 max 1",
    "Hash type spin default 16 min 1 max 512",
    "UCI_Chess960 type check default false",
    "Playing Style type combo default Very Solid var Very Solid var Risky",
    "EvalFile type string default a net.nnue",
    "Book type string default <empty>",
    "Clear Hash type button",
    "Old type spin",
)


def told(*options: tuple[str, str], threads: int = 1, chess960: bool = False) -> list[str]:
    """Return the setoption commands for these options, without that word."""
    command = (sys.executable, "-S", "-c", ENGINE, *REPORTED)
    spec = EngineSpec("engine", command, options, "10+0.1", threads)

    async def prepared() -> list[str]:
        engine = UciEngine(spec, replace(EngineTimeouts(), quit=0.3), Threads())
        try:
            await engine.prepare(spec, chess960=chess960)
            return [line for line in engine.tail if line.startswith("> setoption name ")]
        finally:
            await engine.quit()

    return [line.removeprefix("> setoption name ") for line in asyncio.run(prepared())]


def test_nothing_is_told_to_an_engine_that_has_it_all() -> None:
    assert told() == []


@pytest.mark.parametrize(
    "option",
    [
        ("Hash", "16"),
        ("hash", "16"),
        ("Playing Style", "Very Solid"),
        ("EvalFile", "a net.nnue"),
        ("Book", "<empty>"),
    ],
)
def test_a_value_that_the_engine_reports_is_not_told(option: tuple[str, str]) -> None:
    assert told(option) == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("Hash", "32"), "Hash value 32"),
        (("Playing Style", "Risky"), "Playing Style value Risky"),
        (("EvalFile", "another.nnue"), "EvalFile value another.nnue"),
        (("Clear Hash", ""), "Clear Hash"),
        (("Old", "1"), "Old value 1"),
        (("Unreported", "1"), "Unreported value 1"),
    ],
)
def test_a_value_that_differs_or_was_not_reported_is_told(
    option: tuple[str, str], words: str
) -> None:
    assert told(option) == [words]


def test_threads_and_chess960_are_told_where_they_differ() -> None:
    assert told(threads=4, chess960=True) == ["Threads value 4", "UCI_Chess960 value true"]


def test_a_default_is_told_again_after_another_value() -> None:
    command = (sys.executable, "-S", "-c", ENGINE, *REPORTED)
    larger, usual = (
        EngineSpec("engine", command, (("Hash", size),), "10+0.1") for size in ("32", "16")
    )

    async def prepared() -> tuple[str, ...]:
        engine = UciEngine(larger, replace(EngineTimeouts(), quit=0.3), Threads())
        try:
            await engine.prepare(larger, chess960=False)
            await engine.prepare(usual, chess960=False)
            return engine.tail
        finally:
            await engine.quit()

    assert asyncio.run(prepared())[-2:] == (
        "> setoption name Hash value 32",
        "> setoption name Hash value 16",
    )
