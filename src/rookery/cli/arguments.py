"""Commands and the commands below them, each with a line of purpose and a function that runs it."""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from rookery.errors import Complaint
from rookery.settings import SETTINGS, Settings, flag, from_process, variable
from rookery.stats.spsa_parameters import DEFAULT_A_RATIO, DEFAULT_ALPHA, DEFAULT_GAMMA

# argparse has no public name for what its add_subparsers gives.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class HelpText(argparse.HelpFormatter):
    """Fills paragraphs, and leaves those alone whose lines stand indented, as examples do."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = textwrap.dedent(text).strip("\n").split("\n\n")
        filled = (
            each if each.startswith("  ") else textwrap.fill(" ".join(each.split()), width)
            for each in paragraphs
        )
        return textwrap.indent("\n\n".join(filled), indent)


def add_parser(commands: Commands, name: str, purpose: str) -> argparse.ArgumentParser:
    """A command whose purpose is told in the list of commands, and in its own help."""
    told = f"{purpose[0].upper()}{purpose[1:]}."
    return commands.add_parser(name, help=purpose, description=told, formatter_class=HelpText)


class Subcommands:
    """Below one command's parser; one of them must be chosen."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(
        self, name: str, purpose: str, run: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        parser = add_parser(self._commands, name, purpose)
        parser.set_defaults(run=run)
        return parser


# Rows of words in columns, as commands print them.

GAP = "  "


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, each as wide as its longest word."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        GAP.join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


# What is given on a command line and can't be used, and how files named there are read.


class BadArgument(Complaint):
    """Something given on the command line cannot be used."""

    exit_code = 2


def text_of(file: Path) -> str:
    """Raises BadArgument."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise BadArgument(f"{file} can't be read: it is no text in UTF-8.") from None
    except OSError as error:
        raise BadArgument(f"{file} can't be read: {error.strerror}.") from None


# Flags that stand for settings: one flag a setting, described by the setting itself.

SWITCHES = frozenset({"access_log", "detect_blocking"})


def add_settings(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Adds the flags of these settings; each also names its environment variable."""
    group = parser.add_argument_group("settings", "Each can also be given in the environment.")
    for name in names:
        purpose = f"{SETTINGS[name].purpose}{_default(name)} [{variable(name)}]"
        if name in SWITCHES:
            told = purpose.removeprefix("1: ")
            group.add_argument(flag(name), action="store_const", const="1", help=told)
        else:
            group.add_argument(flag(name), metavar=_metavar(name), help=purpose)


def settings_of(parsed: argparse.Namespace) -> Settings:
    """The settings of this process, with the flags that were given."""
    given: dict[str, str | None] = {
        name: value for name, value in vars(parsed).items() if name in SETTINGS
    }
    return from_process(given)


def _metavar(name: str) -> str:
    return "0|1" if isinstance(_standard(name), bool) else name.rsplit("_", maxsplit=1)[-1].upper()


def _default(name: str) -> str:
    default = _standard(name)
    if name in SWITCHES or default in (None, ()):
        return ""
    return f" (default: {int(default) if isinstance(default, bool) else default})"


def _standard(name: str) -> object:
    standard: object = getattr(Settings(), name)
    return standard


# The flags of an SPSA schedule: how fast its steps and its distances shrink.


def add_schedule(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    for word, name, default, purpose in (
        ("--A", "a_ratio", DEFAULT_A_RATIO, "the schedule's A, as a share of all pairs"),
        ("--alpha", "alpha", DEFAULT_ALPHA, "how fast steps shrink"),
        ("--gamma", "gamma", DEFAULT_GAMMA, "how fast the distances tried shrink"),
    ):
        parser.add_argument(
            word,
            dest=name,
            type=float,
            default=default,
            metavar="X",
            help=f"{purpose} (default: {default})",
        )
