"""The frame of the command line: commands by group, loaded when chosen, and errors as sentences.

A command is a function whose annotated parameters are its flags, or an App with several commands.
It returns an exit code or None. Cyclopts reads the annotations and makes the help and the
completion.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Group
from cyclopts.exceptions import CoercionError, MissingArgumentError, UnknownCommandError

from rookery.cli.options import (
    ARGUMENTS,
    OPTIONS,
    PLAIN_FLAGS,
    BadArgument,
    join_bounds,
    not_installed,
    print_trimmed,
)
from rookery.errors import Complaint

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

INTERRUPTED = 130
BAD_USAGE = 2
HELP_FLAGS = ("--help", "-h")
COMPLETION = "--install-completion"


@dataclass(frozen=True, slots=True)
class Command:
    """A command's name, the import path of its function or App, and its line in the overview."""

    name: str
    target: str
    purpose: str


COMMANDS: Mapping[str, Sequence[Command]] = {
    "Run a farm": (
        Command("up", "rookery.cli.up:up", "start server, database and worker on this machine"),
        Command("serve", "rookery.cli.serve:serve", "start the server"),
        Command("worker", "rookery.cli.worker:worker", "play games for a server on this machine"),
    ),
    "Play here": (
        Command("match", "rookery.cli.match:match", "play engines against one another"),
        Command("tune", "rookery.cli.tune:tune", "tune an engine's options by games"),
        Command("replay", "rookery.cli.replay:replay", "play a recorded game again"),
        Command(
            "stats", "rookery.cli.stats:stats", "calculate Elo, SPRT, power and lengths of tests"
        ),
        Command("fledgling", "rookery.cli.replay:fledgling", "start the bundled UCI engine"),
    ),
    "Talk to a server": (
        Command("login", "rookery.cli.login:login", "log in to a server and save a token"),
        Command("logout", "rookery.cli.login:logout", "log out and revoke that token"),
        Command("me", "rookery.cli.login:me", "show your account, or change it"),
        Command("submit", "rookery.cli.submit:submit", "create a run"),
        Command("ask", "rookery.cli.ask:ask", "ask what was tried before"),
        Command("watch", "rookery.cli.watch:watch", "follow a run until it is over"),
        Command("runs", "rookery.cli.runs:runs", "list, show, approve or stop runs"),
        Command("machine", "rookery.cli.runs:machine", "list, show or block machines"),
        Command("team", "rookery.cli.login:team", "create teams, add or remove members"),
        Command("engine", "rookery.cli.engine:engine", "add, import, list or show engines"),
        Command("book", "rookery.cli.book:book", "add, list, remove or import opening books"),
    ),
    "Administer": (
        Command("user", "rookery.cli.user:user", "add, list, approve or block users"),
        Command("token", "rookery.cli.token:token", "create, list or revoke access tokens"),
        Command("net", "rookery.cli.net:net", "add, list or remove nets"),
        Command("repo", "rookery.cli.user:repo", "let runs fetch private repositories"),
        Command("files", "rookery.cli.files:files", "move stored files elsewhere, or check them"),
        Command("status", "rookery.cli.status:status", "show the servers on a database"),
        Command("step-down", "rookery.cli.status:step_down", "make another server the primary"),
        Command("db", "rookery.cli.db:db", "migrate, back up, restore or open the database"),
        Command("doctor", "rookery.cli.doctor:doctor", "check an installation and its proxy"),
        Command("demo", "rookery.cli.demo:demo", "fill an empty farm with invented data"),
        Command("boundaries", "rookery.cli.boundaries:boundaries", "list what runs where"),
    ),
}

OVERVIEW = """\
A self-hosted testing farm for game engines.

Start with `rookery up`, then open the address it prints.

For the flags of a command: rookery COMMAND --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen = words[0] if words and not words[0].startswith("-") else ""
    try:
        if chosen:
            check_command(chosen)
        return run_command(command_line(chosen, words), join_bounds(words))
    except CycloptsError as error:
        print(f"rookery: {describe_error(error)}", file=sys.stderr)
        return BAD_USAGE
    except Complaint as complaint:
        print(f"rookery: {complaint}", file=sys.stderr)
        return complaint.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has ended, as `head` does.
        sys.stderr.close()
        return 1


def run_command(app: App, words: Sequence[str]) -> int:
    """Parse the words and run the command. Raises CycloptsError for invalid words."""
    try:
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except ImportError as error:
        missing = error.__cause__
        if not isinstance(missing, ModuleNotFoundError):
            raise
        raise not_installed(words[0], missing) from missing
    result = command(*bound.args, **bound.kwargs)
    if inspect.iscoroutine(result):
        # Importing it takes a quarter of the time that the help takes.
        import asyncio

        result = asyncio.run(result)
    if isinstance(result, int):
        return result
    # Without a command the help is shown, but the exit code says that something is missing.
    shown = getattr(command, "__func__", None) is App.help_print
    return BAD_USAGE if shown and not set(HELP_FLAGS) & set(words) else 0


def check_command(name: str) -> None:
    """Refuse an unknown command without loading any. Raises BadArgument."""
    known = [command.name for command in chain(*COMMANDS.values())]
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        meant = f' Did you mean "{near[0]}"?' if near else ""
        raise BadArgument(f'Unknown command "{name}".{meant} See `rookery --help`.')


def tell_version() -> str:
    """The version with its build, which takes a moment to find out."""
    from rookery.build_id import describe_version

    return f"rookery {describe_version()}"


def command_line(chosen: str = "", words: Sequence[str] = ()) -> App:
    """The App with all commands. Only the chosen one is loaded for its help; the others have their
    overview line."""
    app = App(
        name="rookery",
        version=tell_version,
        help=OVERVIEW,
        help_format="plaintext",
        help_formatter=HelpText(),
        version_format="plaintext",
        help_flags=HELP_FLAGS,
        default_parameter=PLAIN_FLAGS,
        group_arguments=ARGUMENTS,
        group_parameters=OPTIONS,
        group_commands=Group("Commands", sort_key=9),
    )
    for place, (title, commands) in enumerate(COMMANDS.items(), start=2):
        group = Group(title, sort_key=place)
        for number, each in enumerate(commands):
            # Completion needs the flags of every command.
            if COMPLETION in words and not is_installed(each):
                continue
            purpose = None if each.name == chosen else each.purpose
            app.command(each.target, each.name, help=purpose, group=group, sort_key=number)
    purpose = "let your shell complete commands and flags"
    if COMPLETION in words:
        app.register_install_completion_command(COMPLETION, help=purpose)
    elif not chosen:
        # Its implementation takes a sixth of the time of the help, which only names it.
        app.command(lambda: None, COMPLETION, help=purpose)
    app["--help"].help = "show this help, or that of a command"
    app["--version"].help = "show the version"
    return app


def is_installed(command: Command) -> bool:
    """Whether the packages that a command needs are installed."""
    try:
        importlib.import_module(command.target.partition(":")[0])
    except ModuleNotFoundError:
        return False
    return True


def describe_error(error: CycloptsError) -> str:
    """The message of an error, and the command whose help explains it."""
    error.verbose = False
    text = str(error).strip()
    if isinstance(error, MissingArgumentError):
        text = text.removeprefix(f'Command "{" ".join(error.command_chain or ())}" parameter ')
        wrong = "needs a value" if error.keyword else "is missing"
        text = text.removeprefix("Parameter ").replace("requires an argument", wrong)
        text = re.sub(r"requires (\d+) positional arguments", r"takes \1 values", text)
    if isinstance(error, CoercionError):
        if error.argument and error.token and not error.token.keyword and error.msg is not None:
            text = f"Invalid value for {error.argument.name.lstrip('-').upper()}: {text}"
        text = text.replace("unable to convert", "can't read")
        text = text.replace(" into int.", " as a whole number.")
        text = text.replace(" into float.", " as a number.")
    if isinstance(error, UnknownCommandError):
        # The help lists the commands.
        text = text.partition(" Available commands:")[0]
    place = " ".join(("rookery", *(error.command_chain or ())))
    return f"{text} See `{place} --help`."


class HelpText:
    """Prints a group of commands or flags in two columns without a box."""

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: object) -> None:
        console.print(f"Usage: {usage}", markup=False, highlight=False)

    def render_description(
        self, console: "Console", options: "ConsoleOptions", description: object
    ) -> None:
        """Wrap paragraphs. Indented ones, such as examples, stay as they are."""
        from rich.text import Text

        for paragraph in plain(description).split("\n\n"):
            indented = paragraph.startswith("  ")
            text = Text(paragraph if indented else " ".join(paragraph.split()))
            console.print(text, soft_wrap=indented)
            console.print()

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        if not panel.entries:
            return
        from rich.table import Table
        from rich.text import Text

        lines = Table.grid(padding=(0, 2, 0, 0))
        lines.add_column(max_width=console.width * 2 // 5)
        lines.add_column()
        for entry in panel.entries:
            names = ", ".join(entry.display_labels_with_metavar)
            lines.add_row(Text(f"  {names}", style="cyan"), Text(" ".join(_told(entry))))
        console.print(Text(f"{panel.title}:", style="bold"))
        print_trimmed(console, lines)
        console.print()


def plain(text: object) -> str:
    """The plain text of a renderable from Cyclopts."""
    return str(getattr(text, "primary_renderable", text) or "").strip("\n")


def _told(entry: "HelpEntry") -> Iterator[str]:
    """A flag's purpose, choices, whether it is required, and default."""
    yield plain(entry.description)
    if entry.choices:
        yield f"[{'|'.join(entry.choices)}]"
    if entry.required and entry.positional_label is None:
        yield "[required]"
    if entry.default not in (None, "", '""', "False", "None", "[]", "()"):
        yield f"[default: {entry.default}]"


if __name__ == "__main__":
    sys.exit(main())
