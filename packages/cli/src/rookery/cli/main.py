"""The frame of the command line: commands by group, loaded when chosen, and errors as sentences.

A command is a function whose annotated parameters are its flags, or an App with several commands.
It returns an exit code or None. Cyclopts reads the annotations and makes the help and the
completion.
"""

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Group
from cyclopts.exceptions import CoercionError, MissingArgumentError, UnknownCommandError

from rookery.core.command import (
    ARGUMENTS,
    OPTIONS,
    PLAIN_FLAGS,
    TITLES,
    BadArgument,
    Command,
    CommandTable,
    join_bounds,
    missing_module,
    not_installed,
    print_trimmed,
)
from rookery.core.errors import Complaint

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

INTERRUPTED = 130
BAD_USAGE = 2
HELP_FLAGS = ("--help", "-h")
COMPLETION = "--install-completion"


PACKAGES = ("server", "worker", "match", "cli", "demo")
"""The packages with commands, in the order of the overview. Not all need be installed."""


def list_commands() -> Iterator[tuple[str, Command]]:
    """Yield the commands of the installed packages, each with the title of its group."""
    tables = [read_commands(name) for name in PACKAGES]
    for title in TITLES:
        yield from ((title, each) for table in tables for each in table.get(title, ()))


def read_commands(package: str) -> CommandTable:
    """Return the commands of a package; none if it is not installed."""
    if importlib.util.find_spec(f"rookery.{package}") is None:
        return {}
    table: CommandTable = importlib.import_module(f"rookery.{package}.commands").COMMANDS
    return table


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
        raise missing_module(words[0], missing) from missing
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


ELSEWHERE = {
    "rookery-server": (
        *("up", "serve", "user", "token", "net", "repo", "files", "status", "step-down"),
        *("db", "doctor", "boundaries"),
    ),
    "rookery-worker": ("worker",),
    "rookery-match": ("match", "tune", "replay", "stats", "fledgling"),
    "rookery-demo": ("demo",),
}
"""The commands of packages that need not be installed, to say what is missing."""


def check_command(name: str) -> None:
    """Refuse a command that is unknown or not installed, without loading any."""
    known = [command.name for _, command in list_commands()]
    if name not in known:
        for package, names in ELSEWHERE.items():
            if name in names:
                raise not_installed(name, package)
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        meant = f' Did you mean "{near[0]}"?' if near else ""
        raise BadArgument(f'Unknown command "{name}".{meant} See `rookery --help`.')


def tell_version() -> str:
    """Return the version with its build, which takes a moment to find out."""
    from rookery.core.build_id import describe_version

    return f"rookery {describe_version()}"


def command_line(chosen: str = "", words: Sequence[str] = ()) -> App:
    """Return the App with all commands. Only the chosen one is loaded for its help; the others have
    their overview line."""
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
    listed = tuple(list_commands())
    titles = dict.fromkeys(title for title, _ in listed)
    groups = {title: Group(title, sort_key=place) for place, title in enumerate(titles, start=2)}
    for number, (title, each) in enumerate(listed):
        # Completion needs the flags of every command.
        if COMPLETION in words and not is_installed(each):
            continue
        purpose = None if each.name == chosen else each.purpose
        app.command(each.target, each.name, help=purpose, group=groups[title], sort_key=number)
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
    """Return the message of an error, and the command whose help explains it."""
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
    """Return the plain text of a renderable from Cyclopts."""
    return str(getattr(text, "primary_renderable", text) or "").strip("\n")


def _told(entry: "HelpEntry") -> Iterator[str]:
    """Yield a flag's purpose, choices, whether it is required, and default."""
    yield plain(entry.description)
    if entry.choices:
        yield f"[{'|'.join(entry.choices)}]"
    if entry.required and entry.positional_label is None:
        yield "[required]"
    if entry.default not in (None, "", '""', "False", "None", "[]", "()"):
        yield f"[default: {entry.default}]"


if __name__ == "__main__":
    sys.exit(main())
