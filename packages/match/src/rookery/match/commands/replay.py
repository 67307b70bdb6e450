"""`rookery replay` and `rookery fledgling`: playing a game again, and the bundled engine."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rookery.core.command import BadArgument, option, print_json
from rookery.core.model.timecontrol import Depth, Nodes
from rookery.match.commands.options import read_options, split_command, time_control
from rookery.match.commands.session import INTERRUPTS
from rookery.match.fledgling import main
from rookery.match.job import EngineSpec
from rookery.match.replay import RecordedGame, ReplayDifference, read_recorded, replay_game

SAME, DIFFERENT = 0, 1
UNKNOWN = "?"
"""The placeholder in PGN files for an unknown name."""


def replay(  # noqa: PLR0913 - each is a flag
    file: Annotated[Path, option("a PGN file")],
    game: Annotated[int, option("number of the game in it, from 1")],
    /,
    *,
    white: Annotated[str | None, option("the engine that has white", "COMMAND")] = None,
    white_tc: Annotated[str | None, option("fixed nodes or depth: N=1000, D=8", "TC")] = None,
    white_option: Annotated[list[str] | None, option("may be repeated", "NAME=VALUE")] = None,
    black: Annotated[str | None, option("the engine that has black", "COMMAND")] = None,
    black_tc: Annotated[str | None, option("fixed nodes or depth: N=1000, D=8", "TC")] = None,
    black_option: Annotated[list[str] | None, option("may be repeated", "NAME=VALUE")] = None,
    json: Annotated[bool, option("print one JSON object")] = False,
) -> int:
    """Play a fixed-nodes game again and find where it differs.

    The engines are those of the game's own tags, as `rookery match` writes them, unless given here.

    Exit codes: 0 every move is the same, 1 a move differs, 2 the command line is wrong, 3 the
    game could not be played.
    """
    if game < 1:
        raise BadArgument("Games are counted from 1.")
    recorded = _recorded(file, game)
    sides = (
        _side(recorded, "white", white, white_tc, white_option or ()),
        _side(recorded, "black", black, black_tc, black_option or ()),
    )
    INTERRUPTS.take_over()
    try:
        difference = INTERRUPTS.run(replay_game(recorded, *sides))
    except KeyboardInterrupt:
        INTERRUPTS.ignore()
        raise
    if json:
        found = None if difference is None else asdict(difference)
        plies = {"plies": len(recorded.moves), "book": recorded.book}
        print_json({**plies, "difference": found})
    else:
        print(_sentence(recorded, difference))
    return SAME if difference is None else DIFFERENT


def fledgling(
    words: Annotated[list[str] | None, option("a UCI command, for example bench")] = None, /
) -> int:
    """Start Fledgling, the small UCI engine that is bundled, for a first match.

    It speaks UCI on standard input and output, or runs one UCI command that is given, such as
    `rookery fledgling bench`. For a match, write `rookery match --new rookery-fledgling`.
    """
    return main(words or [])


def _recorded(path: Path, number: int) -> RecordedGame:
    try:
        return read_recorded(path, number)
    except OSError as error:
        raise BadArgument(f"{path} can't be read: {error.strerror}.") from None


def _side(
    game: RecordedGame, side: str, given: str | None, own_tc: str | None, words: Sequence[str]
) -> EngineSpec:
    title = side.capitalize()
    command = given or game.tags.get(f"{title}Command", "")
    if not command:
        raise BadArgument(f"The game does not name its engines: give --{side}.")
    control = own_tc or game.tags.get(f"{title}TimeControl", "")
    if not control:
        raise BadArgument(f"The game does not name its time control: give --{side}-tc.")
    tc = time_control(control)
    if not isinstance(tc, Nodes | Depth):
        raise BadArgument(f"Only fixed nodes or depth can be replayed, not {control}.")
    kept = [text for text in game.tags.get(f"{title}Options", "").split("; ") if text]
    options = read_options(kept) | read_options(words)
    name = game.tags.get(title, UNKNOWN)
    return EngineSpec(
        side if name == UNKNOWN else name, split_command(command), tuple(options.items()), str(tc)
    )


def _sentence(game: RecordedGame, difference: ReplayDifference | None) -> str:
    if difference is None:
        return f"All {len(game.moves) - game.book} moves are the same."
    return (
        f"Ply {difference.ply}: {difference.engine} played {difference.recorded} and now plays"
        f" {difference.now}\n{difference.fen}"
    )
