"""The commands of this package, for the command line, which finds them here."""

from rookery.core.command import PLAY_HERE, Command, CommandTable

COMMANDS: CommandTable = {
    PLAY_HERE: (
        Command("match", "rookery.match.commands.match:match", "play engines against one another"),
        Command("tune", "rookery.match.commands.tune:tune", "tune an engine's options by games"),
        Command("replay", "rookery.match.commands.replay:replay", "play a recorded game again"),
        Command(
            "stats",
            "rookery.match.commands.stats:stats",
            "calculate Elo, SPRT, power and lengths of tests",
        ),
        Command(
            "fledgling", "rookery.match.commands.replay:fledgling", "start the bundled UCI engine"
        ),
    ),
}
