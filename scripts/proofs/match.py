"""The match runner: hostile engines, mirrored pairs, balance under noise, a planted optimum.

    scripts/prove match [--only NAME ...] [--games N] [--seeds N]

Each part prints what it found and whether it holds. With --games and --seeds it can be made short.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path

import chess

from rookery.core.stats.numbers import cdf, upper_tail
from rookery.core.stats.spsa import late_mean, new_tune
from rookery.match.game import LocalMatch
from rookery.match.job import (
    OFFICIAL,
    Adjudication,
    EngineSpec,
    EngineTimeouts,
    GameEnded,
    GameResult,
    PairEnded,
    PairJob,
    PairResult,
    Setup,
    Termination,
)
from rookery.match.openings import STANDARD, Opening
from rookery.match.results import pair_score_of
from rookery.match.sharded import ShardedMatch
from rookery.match.tuning import Tuner
from scripts.progress import Progress
from tests.engines import planted
from tests.engines.matches import mover, movers_left

LIKELY = 0.001
"""The probability below which a difference is not considered chance."""

WRONGS = {
    "crash": {Termination.CRASH},
    "leave": {Termination.CRASH},
    "close": {Termination.CRASH},
    "illegal": {Termination.ILLEGAL},
    "gibberish": {Termination.ILLEGAL},
    "none": {Termination.ILLEGAL},
    "hang": {Termination.TIME},
    "slow": {Termination.TIME},
    "deaf": {Termination.STALL},
    # How much output a flood produces before the flag falls depends on the machine.
    "flood": {Termination.STALL, Termination.TIME},
    "endless": {Termination.STALL, Termination.TIME},
}
CHANCE = 0.006


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def zombies() -> int:
    found = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += fields[0] == "Z" and int(fields[1]) == os.getpid()
    return found


def misdeed(game: GameResult) -> str:
    """The misdeed that the engine announced; a flood of output pushes its own announcement out of
    the last lines."""
    told = [line.rpartition(" ")[2] for line in game.lines if "misdeed" in line]
    if told:
        return told[-1]
    return "flood" if any("currmove" in line for line in game.lines) else "endless"


async def hostile(games: int, seeds: int) -> bool:
    """Both engines misbehave at random; every lost game is compared with what its engine did."""
    del seeds
    words = [f"{name}={CHANCE}" for name in WRONGS]
    sleep = (("Sleep", "1.5"),)
    bad = mover("bad", "--seed", "1", "--misdeed", *words, tc="1+0.01", options=sleep)
    worse = mover("worse", "--seed", "2", "--misdeed", *words, tc="1+0.01", options=sleep)
    quiet = [word for word in words if not word.startswith("close")]
    stubborn = mover("bad", "--misdeed", *quiet, "stubborn=1", tc="1+0.01", options=sleep)
    setup = Setup(
        Adjudication(most_moves=10), margin_ms=100, timeouts=EngineTimeouts(60.0, 2.0, 0.2)
    )
    before, began = descriptors(), time.monotonic()
    jobs = (
        PairJob(number, STANDARD, stubborn if number % 4 == 3 else bad, worse)
        for number in range(games // 2)
    )
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    told = Progress(games, "hostile games")
    async with LocalMatch(jobs, setup, concurrency=4) as match:
        async for event in match:
            if isinstance(event, GameEnded):
                ends[f"{event.result.termination.value}"] += 1
                wrong.extend(check(event.result))
                told.tell(ends.total())
    left = movers_left()
    print(f"{sum(ends.values())} games in {time.monotonic() - began:.0f} s: {dict(ends)}")
    print(f"wrongly scored {len(wrong)}, processes left {len(left)}, zombies {zombies()},", end="")
    print(f" descriptors {before} before and {descriptors()} after")
    for text in wrong[:10]:
        print("  wrong:", text)
    return not wrong and not left and not zombies() and descriptors() <= before + 3


def check(game: GameResult) -> Iterator[str]:
    """Errors in how a game was scored."""
    if not game.failed:
        if game.termination not in (Termination.NORMAL, Termination.ADJUDICATION):
            yield f"{game.reason} without anyone to blame"
        return
    if game.result != ("0-1" if game.white == game.failed else "1-0"):
        yield f"{game.failed} failed and did not lose"
    did = misdeed(game)
    if game.termination not in WRONGS.get(did, set()):
        yield f"{did}: scored as {game.termination.value} ({game.reason})"


def fledgling(name: str, seed: int, nodes: int, noise: int) -> EngineSpec:
    options = (("NodeNoise", str(noise)), ("Seed", str(seed)))
    command = (sys.executable, "-m", "rookery.match.fledgling")
    return EngineSpec(name, command, options, f"N={nodes}")


def random_openings(count: int, seed: int = 5) -> list[Opening]:
    """Positions after eight random half-moves."""
    chance = random.Random(seed)
    found: list[Opening] = []
    while len(found) < count:
        board = chess.Board()
        moves = []
        for _ in range(8):
            move = chance.choice(list(board.legal_moves))
            moves.append(move.uci())
            board.push(move)
            if board.is_game_over():
                break
        else:
            found.append(Opening(chess.STARTING_FEN, tuple(moves)))
    return found


async def pairs_of(jobs: Sequence[PairJob], setup: Setup) -> list[PairResult]:
    told, found = Progress(len(jobs), "pairs"), list[PairResult]()
    async with ShardedMatch(iter(jobs), setup, concurrency=2) as match:
        async for event in match:
            if isinstance(event, PairEnded):
                found.append(event.pair)
                told.tell(len(found))
    return found


async def mirror(games: int, seeds: int) -> bool:
    """Two identical engines at fixed nodes: the second game of a pair repeats the first."""
    del seeds
    openings = random_openings(max(1, games // 20))
    one, other = fledgling("new", 1, 60, 0), fledgling("base", 1, 60, 0)
    jobs = [PairJob(number, opening, one, other) for number, opening in enumerate(openings)]
    found = await pairs_of(jobs, Setup(OFFICIAL))
    exact = sum(
        [move.move for move in pair.games[0].moves] == [move.move for move in pair.games[1].moves]
        and sum(pair.points) == 2
        for pair in found
    )
    print(f"{exact} of {len(found)} pairs exactly mirrored")
    return exact == len(found) == len(openings)


async def balance(games: int, seeds: int) -> bool:
    """Engines that differ in their seeded noise alone score alike, wherever they sit."""
    del seeds
    openings = random_openings(max(4, games // 2), seed=6)
    jobs = [
        PairJob(
            number,
            opening,
            fledgling("new", 2 * number, 60, 60),
            fledgling("base", 2 * number + 1, 60, 60),
        )
        for number, opening in enumerate(openings)
    ]
    found = await pairs_of(jobs, Setup(OFFICIAL))
    wins = sum(pair.points.count(2) for pair in found)
    losses = sum(pair.points.count(0) for pair in found)
    sure = 2 * (1 - cdf(abs(wins - losses) / sqrt(max(1, wins + losses))))
    print(f"new against base: +{wins} -{losses} of {2 * len(found)}, p = {sure:.3f}")
    by_game = [Counter(pair.points[place] for pair in found) for place in (0, 1)]
    second = [Counter({2 - points: n for points, n in by_game[1].items()})]
    white = sum(points * n for points, n in (by_game[0] + second[0]).items()) / (4 * len(found))
    halves = chi_square("first against second game (for White)", [by_game[0], second[0]])
    slots = [
        Counter(points for pair in found if pair.slot == slot for points in pair.points)
        for slot in sorted({pair.slot for pair in found})
    ]
    places = chi_square("slot against slot", slots)
    print(f"White's share {white:.1%}")
    return min(sure, halves, places) > LIKELY


def chi_square(title: str, groups: list[Counter[int]]) -> float:
    """Prints and returns the probability that groups differ this much in their losses, draws and
    wins."""
    total = sum(groups, Counter())
    games = total.total()
    value = 0.0
    for group in groups:
        for outcome, count in total.items():
            due = group.total() * count / games
            value += (group[outcome] - due) ** 2 / due
    freedom = 2 * (len(groups) - 1)
    chance = upper_tail(value, freedom)
    shown = ["/".join(str(group[outcome]) for outcome in (0, 1, 2)) for group in groups]
    print(
        f"{title}: {' and '.join(shown)}, chi-square {value:.2f} ({freedom} df), p = {chance:.3f}"
    )
    return chance


async def spsa(games: int, seeds: int) -> bool:
    """Two options with a known best setting, five c_end away, 2,000 pairs, r_end 0.02.

    r_end suits the width of this optimum; half of it is too slow for a flatter one.
    """
    del games
    pairs, c_end = 2000, 4.0
    lines = f"P,80,0,200,{c_end:g},0.02\nQ,80,0,200,{c_end:g},0.02"
    hits, told = 0, Progress(seeds, "tunes")
    for seed in range(seeds):
        engine = EngineSpec("engine", planted_command(seed), (), "N=1")
        tuner = Tuner(
            new_tune(lines, 2 * pairs),
            engine,
            always,
            random.Random(seed),
        )
        began = time.monotonic()
        async with LocalMatch(tuner.jobs(), Setup(), concurrency=4) as match:
            async for event in match:
                if isinstance(event, PairEnded):
                    tuner.after(pair_score_of(event.pair))
        found = late_mean(tuner.tune)
        away = max(
            abs(value - best) / c_end
            for value, best in zip(found, planted.BEST.values(), strict=True)
        )
        hits += away < 1
        print(
            f"seed {seed}: P {found[0]:.1f}, Q {found[1]:.1f}, {away:.2f} c_end from the best"
            f" ({pairs} pairs in {time.monotonic() - began:.0f} s)"
        )
        told.tell(seed + 1)
    print(f"{hits} of {seeds} within one c_end")
    return hits >= 0.9 * seeds


def always(_: int) -> Opening:
    return Opening(planted.FEN)


def planted_command(seed: int) -> tuple[str, ...]:
    return (sys.executable, "-S", "-E", str(Path(planted.__file__)), str(seed))


PARTS = {part.__name__: part for part in (hostile, mirror, balance, spsa)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    held = True
    for name in asked.only:
        print(f"## {name}\n\n{(PARTS[name].__doc__ or '').strip()}\n", flush=True)
        holds = asyncio.run(PARTS[name](asked.games, asked.seeds))
        held &= holds
        print(f"\n{'holds' if holds else 'DOES NOT HOLD'}\n", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
