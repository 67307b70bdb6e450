"""Commands and the commands below them, each with a line of purpose and a function that runs it."""

import argparse
import textwrap
from collections.abc import Callable
from typing import TypeAlias

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
