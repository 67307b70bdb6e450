"""The commands of this package, for the command line, which finds them here."""

from rookery.core.command import TALK_TO_A_SERVER, Command, CommandTable

COMMANDS: CommandTable = {
    TALK_TO_A_SERVER: (
        Command("login", "rookery.cli.commands.login:login", "log in to a server and save a token"),
        Command("logout", "rookery.cli.commands.login:logout", "log out and revoke that token"),
        Command("me", "rookery.cli.commands.login:me", "show your account, or change it"),
        Command("submit", "rookery.cli.commands.submit:submit", "create a run"),
        Command("ask", "rookery.cli.commands.ask:ask", "ask what was tried before"),
        Command("watch", "rookery.cli.commands.watch:watch", "follow a run until it is over"),
        Command("runs", "rookery.cli.commands.runs:runs", "list, show, approve or stop runs"),
        Command("machine", "rookery.cli.commands.runs:machine", "list, show or block machines"),
        Command("team", "rookery.cli.commands.login:team", "create teams, add or remove members"),
        Command(
            "engine", "rookery.cli.commands.engine:engine", "add, import, list or show engines"
        ),
        Command(
            "book", "rookery.cli.commands.book:book", "add, list, remove or import opening books"
        ),
    ),
}
