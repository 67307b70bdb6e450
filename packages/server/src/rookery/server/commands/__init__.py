"""The commands of this package, for the command line, which finds them here."""

from rookery.core.command import ADMINISTER, RUN_A_FARM, Command, CommandTable

COMMANDS: CommandTable = {
    RUN_A_FARM: (
        Command(
            "up",
            "rookery.server.commands.up:up",
            "start server, database and worker on this machine",
        ),
        Command("serve", "rookery.server.commands.serve:serve", "start the server"),
    ),
    ADMINISTER: (
        Command("user", "rookery.server.commands.user:user", "add, list, approve or block users"),
        Command(
            "token", "rookery.server.commands.token:token", "create, list or revoke access tokens"
        ),
        Command("net", "rookery.server.commands.net:net", "add, list or remove nets"),
        Command("repo", "rookery.server.commands.user:repo", "let runs fetch private repositories"),
        Command(
            "files",
            "rookery.server.commands.files:files",
            "move stored files elsewhere, or check them",
        ),
        Command(
            "status", "rookery.server.commands.status:status", "show the servers on a database"
        ),
        Command(
            "step-down",
            "rookery.server.commands.status:step_down",
            "make another server the primary",
        ),
        Command(
            "db", "rookery.server.commands.db:db", "migrate, back up, restore or open the database"
        ),
        Command(
            "doctor", "rookery.server.commands.doctor:doctor", "check an installation and its proxy"
        ),
        Command(
            "boundaries", "rookery.server.commands.boundaries:boundaries", "list what runs where"
        ),
    ),
}
