"""Commands of a command, each with a line of purpose and a function that runs it."""

import argparse
from collections.abc import Callable


class Subcommands:
    """Below one command's parser; one of them must be chosen."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(
        self, name: str, purpose: str, run: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        parser = self._commands.add_parser(name, help=purpose, description=purpose)
        parser.set_defaults(run=run)
        return parser
