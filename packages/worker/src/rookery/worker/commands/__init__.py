"""The commands of this package, for the command line, which finds them here."""

from rookery.core.command import RUN_A_FARM, Command, CommandTable

COMMANDS: CommandTable = {
    RUN_A_FARM: (
        Command(
            "worker",
            "rookery.worker.commands.worker:worker",
            "play games for a server on this machine",
        ),
    ),
}
