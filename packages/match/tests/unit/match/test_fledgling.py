"""Fledgling's conversation: what UCI promises, its clock, its input and its seeded chance."""

import os

import chess
import pytest

from rookery.match.fledgling import (
    Fledgling,
    GoLimits,
    InputLines,
    allowed_seconds,
    draw_number,
    noisy_nodes,
    parse_go,
    uci_score,
)
from rookery.match.fledgling_search import MATE
from tests.unit.match.fledgling import conversation, spoken, thought


def test_it_introduces_itself() -> None:
    said = conversation("uci")
    assert said[0].startswith("id name Fledgling ")
    assert said[-1] == "uciok"


def test_it_is_ready() -> None:
    assert conversation("isready", "ucinewgame", "isready") == ["readyok", "readyok"]


def test_what_it_does_not_know_it_passes_over() -> None:
    assert conversation("xyzzy", "debug on", "register later", "stop", "ponderhit") == []


def test_a_search_ends_with_a_move() -> None:
    assert conversation("position startpos", "go depth 1")[-1].startswith("bestmove ")


def test_it_stops_when_told() -> None:
    said = conversation("go infinite", "stop", "isready")
    assert [line.split()[0] for line in said[-2:]] == ["bestmove", "readyok"]


def test_it_is_ready_during_a_search_too() -> None:
    said = conversation("go infinite", "isready", "stop")
    assert said[0] == "readyok"
    assert said[-1].startswith("bestmove ")


def test_quitting_ends_a_search() -> None:
    assert conversation("go infinite")[-1].startswith("bestmove ")


def test_what_comes_too_early_is_kept_until_after_the_search() -> None:
    with spoken("position startpos", "isready", "go depth 1") as lines:
        said: list[str] = []
        Fledgling(lines, said.append).obey("go depth 2")
        assert (said[0], said[-1].split()[0]) == ("readyok", "bestmove")
        assert [lines.wait(), lines.wait()] == ["position startpos", "go depth 1"]


def test_pondering_waits_for_the_hit() -> None:
    said = conversation("go ponder depth 1", "isready", "ponderhit")
    assert said[-1].startswith("bestmove ")


def test_after_a_hit_the_clock_counts() -> None:
    said = conversation("go ponder wtime 100 btime 100", "ponderhit", "isready")
    assert said[-1].startswith("bestmove ")


def test_a_wrong_option_is_told_and_changes_nothing() -> None:
    assert conversation("setoption name Contempt value 3") == [
        "info string option Contempt not set: there is no such option"
    ]


def test_a_wrong_position_is_told() -> None:
    (said,) = conversation("position startpos moves e2e5")
    assert said.startswith("info string position not set: ")


@pytest.mark.parametrize("clock", ["wtime 1 btime 1", "wtime -5 btime -5 winc 10 binc 10"])
def test_without_time_it_still_moves(clock: str) -> None:
    assert thought("startpos", clock)[-1].startswith("bestmove ")


def test_a_forced_move_takes_no_time() -> None:
    said = thought("fen 7k/8/8/8/8/8/6q1/7K w - - 0 1", "wtime 600000 btime 600000")
    assert [line.split()[2] for line in said[:-1]] == ["1"]


def test_castling_is_written_as_the_variant_wants() -> None:
    position = "fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    standard = thought(position, "depth 1 searchmoves e1g1")
    shuffled = thought(
        position, "depth 1 searchmoves e1h1", "setoption name UCI_Chess960 value true"
    )
    assert (standard[-1], shuffled[-1]) == ("bestmove e1g1", "bestmove e1h1")


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ("", GoLimits()),
        ("nodes 500", GoLimits(nodes=500)),
        ("depth 7 movetime 20", GoLimits(depth=7, movetime=20)),
        ("wtime 1 btime 2 winc 3 binc 4", GoLimits(wtime=1, btime=2, winc=3, binc=4)),
        ("wtime -20 btime 5", GoLimits(wtime=-20, btime=5)),
        ("movestogo 3 mate 2", GoLimits(movestogo=3, mate=2)),
        ("infinite", GoLimits(infinite=True)),
        ("ponder wtime 9", GoLimits(ponder=True, wtime=9)),
        ("searchmoves e2e4 a7a8q depth 2", GoLimits(searchmoves=("e2e4", "a7a8q"), depth=2)),
        ("nodes many", GoLimits()),
    ],
)
def test_every_word_is_understood(words: str, limits: GoLimits) -> None:
    assert parse_go(words.split()) == limits


def test_without_a_clock_there_is_no_allowed_seconds() -> None:
    assert allowed_seconds(GoLimits(nodes=100), white=True, overhead_ms=30) is None


def test_each_side_has_its_own_clock() -> None:
    limits = GoLimits(wtime=60_000, btime=1_000)
    white, black = (allowed_seconds(limits, white=side, overhead_ms=30) for side in (True, False))
    assert white is not None
    assert black is not None
    assert white[1] > black[1]


def test_a_time_for_the_move_is_used_but_for_the_overhead() -> None:
    assert allowed_seconds(GoLimits(movetime=100), white=True, overhead_ms=20) == (0.08, 0.08)


@pytest.mark.parametrize("left", [-50, 0, 1, 20, 100, 1_000, 60_000])
@pytest.mark.parametrize("moves", [None, 1, 2, 40])
def test_a_move_never_takes_all_the_time_there_is(left: int, moves: int | None) -> None:
    limits = GoLimits(wtime=left, winc=10, movestogo=moves)
    time = allowed_seconds(limits, white=True, overhead_ms=30)
    assert time is not None
    assert time[0] <= time[1] <= max(0.001, (left - 30) / 1000)


def test_a_thousand_moves_at_the_limit_leave_a_reserve() -> None:
    clock = 1_000.0
    for _ in range(1_000):
        time = allowed_seconds(GoLimits(wtime=int(clock), winc=10), white=True, overhead_ms=30)
        assert time is not None
        clock += 10 - 1_000 * time[1]
    assert clock > 150


def test_lines_come_in_order_without_their_ends() -> None:
    with spoken("isready\r", "", "  go  ") as lines:
        assert [lines.wait(), lines.wait()] == ["isready", "go"]


def test_looking_does_not_wait() -> None:
    with spoken() as lines:
        assert lines.poll() is None


def test_half_a_line_is_no_line() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"isre")
    lines = InputLines(reading)
    assert lines.poll() is None
    os.write(writing, b"ady\n")
    assert lines.poll() == "isready"
    os.close(writing)
    assert lines.wait() is None
    assert lines.ended
    os.close(reading)


def test_a_last_line_without_an_end_counts() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"quit")
    os.close(writing)
    assert InputLines(reading).wait() == "quit"
    os.close(reading)


def test_what_is_put_back_comes_first() -> None:
    with spoken("c") as lines:
        lines.put_back(["a", "b"])
        assert [lines.wait(), lines.wait(), lines.wait()] == ["a", "b", "c"]


START = chess.Board()


def test_the_draw_is_the_same_everywhere() -> None:
    assert draw_number(1, "noise", START) == 7507714751206250537


def test_seed_purpose_position_and_move_number_all_matter() -> None:
    other, later = chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), chess.Board()
    later.fullmove_number = 2
    drawn = {draw_number(1, "noise", board) for board in (START, other, later)}
    assert len(drawn | {draw_number(2, "noise", START), draw_number(1, "blunder", START)}) == 5


def test_noise_stays_within_its_share_and_goes_both_ways() -> None:
    limits = [noisy_nodes(1000, 20, draw_number(seed, "noise", START)) for seed in range(500)]
    assert 800 <= min(limits) < 850
    assert 1150 < max(limits) <= 1200
    assert abs(sum(limits) / 500 - 1000) < 20


def test_there_is_always_a_node() -> None:
    assert noisy_nodes(1, 90, 0) == 1


def nodes_used(seed: int) -> int:
    options = ("setoption name NodeNoise value 30", f"setoption name Seed value {seed}")
    said = thought("fen 8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "nodes 150", *options)
    return int(said[-2].split(" nodes ")[1].split()[0])


def test_noise_changes_the_search_from_seed_to_seed_but_not_from_time_to_time() -> None:
    assert [nodes_used(seed) for seed in (1, 2, 3)] == [nodes_used(seed) for seed in (1, 2, 3)]
    assert len({nodes_used(seed) for seed in range(6)}) > 1


@pytest.mark.parametrize(("percent", "moves"), [(0, 1), (100, 8)])
def test_a_blundering_engine_plays_anything(percent: int, moves: int) -> None:
    played = {
        thought(
            "fen 7k/8/8/8/8/8/8/KQ6 w - - 0 1",
            "depth 1",
            f"setoption name Blunder value {percent}",
            f"setoption name Seed value {seed}",
        )[-1]
        for seed in range(14)
    }
    assert len(played) >= moves
    assert percent or len(played) == 1


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (31, "cp 31"),
        (-4, "cp -4"),
        (MATE - 1, "mate 1"),
        (MATE - 4, "mate 2"),
        (4 - MATE, "mate -2"),
    ],
)
def test_scores_are_written_as_uci_wants(score: int, text: str) -> None:
    assert uci_score(score) == text
