"""The commands of this package, for the command line, which finds them here."""

from rookery.core.command import ADMINISTER, Command, CommandTable

COMMANDS: CommandTable = {
    ADMINISTER: (
        Command("demo", "rookery.demo.commands.demo:demo", "fill an empty farm with invented data"),
    ),
}
