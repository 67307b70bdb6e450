"""Engines that crash, hang, cheat and shout: their games are scored and nothing of them is left."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rookery.core.boundary.offload import Threads
from rookery.match.engine_process import EngineProcess, start_process
from rookery.match.job import EngineSpec, GameResult, MatchFault, Termination
from tests.engines.matches import MOVER, SHORT, mover, movers_left, play
from tests.faults.processes import kill, wait_until_gone
from tests.forks import Fork, requests
from tests.places import IMPORTED
from tests.process_table import LIMIT_SECONDS, parent_of, pids, processes_of, state_of
from tests.rookery_process import COMMAND

pytestmark = pytest.mark.anyio
T = TypeVar("T")

WRONGS = {
    "crash": Termination.CRASH,
    "leave": Termination.CRASH,
    "close": Termination.CRASH,
    "illegal": Termination.ILLEGAL,
    "gibberish": Termination.ILLEGAL,
    "none": Termination.ILLEGAL,
    "flood": Termination.STALL,
    "endless": Termination.STALL,
    "deaf": Termination.STALL,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def nothing_left(anyio_backend: str) -> Iterator[None]:
    """Every test ends with the descriptors it began with, and without engines, dead ones too."""
    requests()  # whose socket stays open
    before = descriptors()
    yield
    assert descriptors() <= before + 2, "the loop may keep a pair of its own"
    left = movers_left()
    for pid in left:
        kill(pid)  # or each test after this one would fail for it
    assert left == {}
    assert [pid for pid in pids() if parent_of(pid) == os.getpid() and state_of(pid) == "Z"] == []


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def misdeed(game: GameResult) -> str:
    """What the engine said it was about to do."""
    told = [line for line in game.lines if "misdeed" in line]
    return told[-1].rpartition(" ")[2] if told else ""


async def leave(task: asyncio.Task[T], *, after_turns: int) -> T | None:
    """Cancel it again and again, as the end of a match that was given up does; what it came to
    where it was quicker than that."""
    for _ in range(after_turns):
        await asyncio.sleep(0)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        return await task
    return None


def start(spec: EngineSpec) -> Coroutine[Any, Any, EngineProcess]:
    return start_process(spec.command, Threads(), environment=dict(spec.environment or ()))


@pytest.mark.parametrize("turns", [1, 5, 50])
async def test_an_engine_whose_start_is_given_up_is_ended_and_reaped(turns: int) -> None:
    up_already = await leave(asyncio.create_task(start(mover("a"))), after_turns=turns)
    if up_already is not None:
        await up_already.kill()


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_an_engine_whose_polite_end_is_given_up_is_killed(turns: int) -> None:
    engine = await start(mover("stubborn", "--misdeed", "stubborn=1"))
    await leave(asyncio.create_task(engine.quit(LIMIT_SECONDS)), after_turns=1 + turns)


@pytest.mark.parametrize("turns", [20, 200, 2000])
async def test_a_match_that_is_given_up_at_any_moment_leaves_no_engine(turns: int) -> None:
    await leave(asyncio.create_task(play(mover("a"), mover("b"), pairs=1000)), after_turns=turns)


@pytest.mark.parametrize("name", WRONGS)
async def test_a_failing_engine_loses_and_the_next_game_is_played(name: str) -> None:
    played = await play(mover("bad", "--misdeed", f"{name}=1"), mover("good"))
    assert [game.result for game in played.games] == ["0-1", "1-0"]
    for game in played.games:
        assert game.failed == "bad"
        assert game.termination is WRONGS[name]
        assert name in ("flood", "endless") or misdeed(game) == name


async def test_silence_beyond_the_clock_loses_on_time() -> None:
    bad = mover("bad", "--misdeed", "hang=1", tc="0.1+0.01")
    played = await play(bad, mover("good", tc="10+0.1"))
    assert [game.termination for game in played.games] == [Termination.TIME] * 2
    assert played.pairs[0].results.time_losses == 2


async def test_a_late_answer_loses_on_time() -> None:
    bad = mover("bad", "--misdeed", "slow=1", tc="MT=1", options=[("Sleep", "0.06")])
    played = await play(bad, mover("good", tc="10+0.1"))
    assert [game.termination for game in played.games] == [Termination.TIME] * 2


async def test_chatter_is_no_crime() -> None:
    played = await play(mover("bad", "--misdeed", "chatter=1"), mover("good"))
    assert [game.failed for game in played.games] == ["", ""]


async def test_illegal_variations_are_counted() -> None:
    played = await play(mover("bad", "--misdeed", "pv=1"), mover("good"))
    assert [game.failed for game in played.games] == ["", ""]
    assert all(game.bad_pvs >= 7 for game in played.games)


async def test_illegal_variations_lose_where_the_rules_are_strict() -> None:
    strict = replace(SHORT, strict_pvs=True)
    played = await play(mover("bad", "--misdeed", "pv=1"), mover("good"), setup=strict)
    assert [game.termination for game in played.games] == [Termination.ILLEGAL] * 2
    assert "illegal variation" in played.games[0].reason


async def test_an_engine_that_ignores_quit_goes_with_its_children() -> None:
    played = await play(mover("bad", "--misdeed", "stubborn=1"), mover("good"))
    assert [game.failed for game in played.games] == ["", ""]


async def test_a_crash_is_seen_while_a_child_holds_the_pipes() -> None:
    played = await play(mover("bad", "--misdeed", "leave=1", "stubborn=1"), mover("good"))
    assert played.games[0].termination is Termination.CRASH
    assert "! assertion failed: everything" in played.games[0].lines


async def test_the_game_up_to_the_failure_is_kept() -> None:
    played = await play(mover("bad", "--misdeed", "crash=0.2"), mover("good"), pairs=4)
    for game in played.games:
        if game.failed:
            last = next(line for line in reversed(game.lines) if line.startswith("> position"))
            assert last.split(" moves ")[1:] == (
                [" ".join(one.move for one in game.moves)] if game.moves else []
            )


async def test_a_program_that_is_not_there_ends_the_match() -> None:
    absent = EngineSpec("absent", ("/no/such/engine",), (), mover("x").tc)
    with pytest.raises(MatchFault, match="No such file"):
        await play(absent, mover("good"))


async def test_a_program_that_speaks_no_uci_ends_the_match() -> None:
    mute = EngineSpec("mute", ("/bin/true",), (), mover("x").tc)
    with pytest.raises(MatchFault, match="after `uci` it ended"):
        await play(mute, mover("good"))


async def test_many_games_with_all_misdeeds_are_scored_rightly() -> None:
    words = [f"{name}=0.02" for name in WRONGS if name not in ("flood", "endless")]
    bad = mover("bad", "--misdeed", *words)
    played = await play(bad, mover("good"), pairs=15, concurrency=3)
    assert len(played.games) == 30
    for game in played.games:
        if game.failed:
            assert game.failed == "bad"
            assert WRONGS[misdeed(game)] is game.termination
            assert game.result == ("0-1" if game.white == "bad" else "1-0")
        else:
            assert not any("misdeed" in line for line in game.lines)


def words_of(folder: Path) -> Path:
    """What the match of a folder says."""
    return folder / "said.txt"


def started(folder: Path, *misdeeds: str, kind: str = "match") -> Fork:
    """A long match or tune of its own, with its runner process and its engines up."""
    bad = shlex.join((sys.executable, str(MOVER), "--misdeed", *misdeeds))
    (folder / "lines.txt").write_text("Infos,5,0,100,4,0.02\n")
    sides = {
        "match": ("--new", bad, "--base", bad),
        "tune": ("--engine", bad, "--parameters", "lines.txt"),
    }
    words = (kind, *sides[kind], "--tc", "N=1", "--games", "100000", "--concurrency", "1")
    with words_of(folder).open("wb") as said:
        match = Fork(
            [*COMMAND, *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": IMPORTED},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    while not any(b"number" in file.read_bytes() for file in folder.glob("*.resume")):
        assert match.poll() is None
        time.sleep(0.02)
    return match


def test_a_killed_match_takes_its_engines_with_it(tmp_path: Path) -> None:
    match = started(tmp_path, "stubborn=1")
    match.kill()
    match.wait()
    wait_until_gone(tmp_path)


def test_a_killed_runner_process_ends_the_match_with_a_word(tmp_path: Path) -> None:
    match = started(tmp_path)
    runner = next(
        pid for pid, words in processes_of(tmp_path).items() if "rookery.match.shard" in words
    )
    kill(runner)
    assert match.wait() == 3
    said = words_of(tmp_path).read_text()
    assert "A runner process was killed by signal SIGKILL in the middle of its games" in said
    assert "rookery match --resume" in said
    wait_until_gone(tmp_path)


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [("match", 0.001), ("match", 0.005), ("match", 0.015), ("match", 0.03), ("tune", 0.01)],
)
def test_a_match_that_is_told_to_end_twice_ends(tmp_path: Path, kind: str, seconds: float) -> None:
    playing = started(tmp_path, kind=kind)
    playing.send_signal(signal.SIGTERM)
    time.sleep(seconds)
    playing.send_signal(signal.SIGTERM)
    try:
        assert playing.wait(LIMIT_SECONDS) == 130
    finally:
        playing.kill()
        playing.wait()
    assert f"rookery {kind} --resume" in words_of(tmp_path).read_text()
    wait_until_gone(tmp_path)


def test_an_engine_of_fastchess_ends_with_a_killed_match(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    hung = folder / "hung"
    hung.write_text("#!/bin/sh\ntrap '' INT TERM HUP\n: > started\nwhile :; do sleep 0.05; done\n")
    program = folder / "fastchess"
    program.write_text(
        f'#!/bin/sh\ncase "$1" in *version*) echo fastchess 1.8.1; exit;; esac\n'
        f"setsid sh {hung} < /dev/null & wait\n"
    )
    program.chmod(0o755)
    # fastchess takes no arguments with blanks, as the path of a checkout may have.
    mover = folder / "mover"
    mover.write_text(f'#!/bin/sh\nexec {shlex.join((sys.executable, str(MOVER)))} "$@"\n')
    mover.chmod(0o755)
    engine = str(mover)
    words = ("match", "--runner", "fastchess", "--new", engine, "--base", engine, "--tc", "N=1")
    match = subprocess.Popen(
        [sys.executable, "-m", "rookery.cli.main", *words, "--games", "2"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": IMPORTED,
            "PATH": f"{folder}:{os.environ['PATH']}",
        },
    )
    while not (tmp_path / "started").exists():
        assert match.poll() is None
        time.sleep(0.02)
    match.kill()
    match.wait()
    wait_until_gone(tmp_path)
