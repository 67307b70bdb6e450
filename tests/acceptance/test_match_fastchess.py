"""A match by fastchess: how it ends, and what is said when it gives up. Scripts stand in for it."""

import asyncio
import shlex
from pathlib import Path

import pytest

from rookery.match.fastchess import FastchessMatch
from rookery.match.job import Event, MatchFault, PairEnded
from tests.process_table import remaining_processes

GAMES = """\
echo 'Started game 1 of 2 (New vs Base)'
echo 'Finished game 1 (New vs Base): 1-0 {White mates}'
echo 'Started game 2 of 2 (Base vs New)'
echo 'Finished game 2 (Base vs New): 1-0 {Black loses on time (3ms overrun)}'
"""


def script(folder: Path, text: str) -> str:
    program = folder / "fastchess"
    program.write_text(f"#!/bin/sh\n{text}")
    program.chmod(0o755)
    return str(program)


async def heard(program: str, *, most: int = 99) -> list[Event]:
    events: list[Event] = []
    async with FastchessMatch([program], silence_seconds=3600.0) as match:
        async for event in match:
            events.append(event)
            if len(events) == most:
                break
    return events


def test_a_pair_is_told_once_both_its_games_have_ended(tmp_path: Path) -> None:
    events = asyncio.run(heard(script(tmp_path, GAMES)))
    last = events[-1]
    assert isinstance(last, PairEnded)
    assert (last.pair.points, last.pair.results.time_losses) == ((2, 0), 1)


def test_the_reason_is_told_with_the_complaint(tmp_path: Path) -> None:
    said = "echo 'Error while reading option \"-tb\"'; echo 'Reason: no tables'; exit 1\n"
    with pytest.raises(MatchFault, match='option "-tb" Reason: no tables'):
        asyncio.run(heard(script(tmp_path, said)))


def test_an_end_without_a_word_is_told_by_the_last_line(tmp_path: Path) -> None:
    with pytest.raises(MatchFault, match="exit code 7, so it goes"):
        asyncio.run(heard(script(tmp_path, "echo so it goes\necho\nexit 7\n")))


def test_a_signal_that_kills_it_is_told_as_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(MatchFault, match="it was killed by signal SIGABRT, so it goes"):
        asyncio.run(heard(script(tmp_path, "echo so it goes\nkill -ABRT $$\n")))


def test_writing_to_an_engine_that_is_gone_does_not_kill_it(tmp_path: Path) -> None:
    """A pipe without a reader, as that of an engine that has just crashed."""
    text = (
        "{ while [ ! -e gone ]; do sleep 0.01; done; echo isready; echo alive > note; }"
        " | { exec 0<&-; : > gone; }\n"
    )
    asyncio.run(heard(script(tmp_path, f"cd {shlex.quote(str(tmp_path))}\n{text}")))
    assert (tmp_path / "note").read_text() == "alive\n"


def test_an_engine_that_left_the_group_ends_with_the_match(tmp_path: Path) -> None:
    mark = tmp_path / "engine"
    mark.write_text("#!/bin/sh\necho x > started\nwhile :; do sleep 0.05; done\n")
    text = (
        f"cd {shlex.quote(str(tmp_path))}\nsetsid sh {mark} &\n"
        f"while [ ! -e started ]; do sleep 0.01; done\n{GAMES}"
    )
    asyncio.run(heard(script(tmp_path, text)))
    assert remaining_processes(mark) == {}


def test_silence_without_end_is_given_up(tmp_path: Path) -> None:
    async def waited() -> None:
        async with FastchessMatch([program], silence_seconds=0.05) as match:
            async for _ in match:
                pass

    program = script(tmp_path, "exec sleep 60\n")
    with pytest.raises(MatchFault, match="said nothing"):
        asyncio.run(waited())


def test_a_match_that_is_left_lets_fastchess_end_its_engines(tmp_path: Path) -> None:
    note = tmp_path / "said"
    text = f"trap 'echo goodbye > {note}; exit 1' INT\n{GAMES}while :; do sleep 0.02; done\n"
    asyncio.run(heard(script(tmp_path, text), most=2))
    assert note.read_text() == "goodbye\n"
