"""Commands that still read their flags with argparse, mounted in the new command line."""

import argparse
import importlib
from typing import Annotated, Any

from cyclopts import App, Parameter

from rookery.cli.arguments import HelpText
from rookery.cli.options import not_installed


def parser_of(command: Any) -> argparse.ArgumentParser:
    module, _, function = command.target.partition(":")
    told = f"{command.purpose[0].upper()}{command.purpose[1:]}."
    parser = argparse.ArgumentParser(
        prog=f"rookery {command.name}", description=told, formatter_class=HelpText
    )
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise not_installed(command.name, missing) from missing
    getattr(loaded, function or "add_arguments")(parser)
    return parser


def mount(app: App, command: Any, **more: Any) -> None:
    def run(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
        parsed = parser_of(command).parse_args(words)
        return int(parsed.run(parsed) or 0)

    app.command(
        run,
        name=command.name,
        help=command.purpose,
        help_flags=[],
        version_flags=[],
        **more,
    )
