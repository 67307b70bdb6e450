"""`rookery fledgling`: the small UCI engine that comes with the package, for a first match.

On its own it speaks UCI on standard input and output; words are one command to carry out, such as
`rookery fledgling bench`. `rookery match --new rookery-fledgling` starts it by its program's name.
"""

import argparse
from typing import TypeAlias

from rookery.engine.__main__ import main

# argparse has no public name for what its add_subparsers gives.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


def add_parser(subparsers: Commands) -> None:
    parser = subparsers.add_parser(
        "fledgling",
        help="start the small chess engine that comes along",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="a UCI command, for example bench")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    return main(parsed.words)
