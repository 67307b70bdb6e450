"""`rookery replay FILE GAME`: plays a fixed-nodes game again and finds where it differs.

The engines are those of the game's own tags, as `rookery match` writes them, unless given here.

Exit codes: 0 every move is the same, 1 a move differs, 2 the command line makes no sense, 3 the
game could not be played.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rookery.cli.arguments import BadArgument
from rookery.cli.match_arguments import command_of, options_of, time_control
from rookery.cli.match_resume import INTERRUPTS
from rookery.match.job import EngineSpec
from rookery.match.replay import RecordedGame, ReplayDifference, read_recorded, replay_game
from rookery.model.timecontrol import Depth, Nodes

SAME, DIFFERENT = 0, 1
UNKNOWN = "?"
"""What a PGN file has in place of a name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("file", type=Path, help="a PGN file")
    parser.add_argument("game", type=int, help="number of the game in it, from 1")
    for side in ("white", "black"):
        parser.add_argument(f"--{side}", metavar="COMMAND", help=f"the engine that has {side}")
        parser.add_argument(f"--{side}-tc", metavar="TC", help="fixed nodes or depth: N=1000, D=8")
        parser.add_argument(f"--{side}-option", action="append", default=[], metavar="NAME=VALUE",
                            help="may be repeated")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replays the game and prints the first difference."""
    if args.game < 1:
        raise BadArgument("Games are counted from 1.")
    game = _recorded(args.file, args.game)
    white, black = _side(args, game, "white"), _side(args, game, "black")
    INTERRUPTS.take_over()
    try:
        difference = INTERRUPTS.run(replay_game(game, white, black))
    except KeyboardInterrupt:
        INTERRUPTS.ignore()
        raise
    if args.json:
        found = None if difference is None else asdict(difference)
        print(json.dumps({"plies": len(game.moves), "book": game.book, "difference": found}))
    else:
        print(_sentence(game, difference))
    return SAME if difference is None else DIFFERENT


def _recorded(path: Path, number: int) -> RecordedGame:
    try:
        return read_recorded(path, number)
    except OSError as error:
        raise BadArgument(f"{path} can't be read: {error.strerror}.") from None


def _side(args: argparse.Namespace, game: RecordedGame, side: str) -> EngineSpec:
    given, title = vars(args), side.capitalize()
    command = given[side] or game.tags.get(f"{title}Command", "")
    if not command:
        raise BadArgument(f"The game does not name its engines: give --{side}.")
    control = given[f"{side}_tc"] or game.tags.get(f"{title}TimeControl", "")
    if not control:
        raise BadArgument(f"The game does not say how long its engines thought: give --{side}-tc.")
    tc = time_control(control)
    if not isinstance(tc, Nodes | Depth):
        raise BadArgument(f"Only fixed nodes or depth can be replayed, not {control}.")
    kept = [text for text in game.tags.get(f"{title}Options", "").split("; ") if text]
    options = options_of(kept) | options_of(given[f"{side}_option"])
    name = game.tags.get(title, UNKNOWN)
    return EngineSpec(
        side if name == UNKNOWN else name, command_of(command), tuple(options.items()), str(tc)
    )


def _sentence(game: RecordedGame, difference: ReplayDifference | None) -> str:
    if difference is None:
        return f"All {len(game.moves) - game.book} moves are the same."
    return (
        f"Ply {difference.ply}: {difference.engine} played {difference.recorded} and now plays"
        f" {difference.now}\n{difference.fen}"
    )
