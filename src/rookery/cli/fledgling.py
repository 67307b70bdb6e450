"""`rookery fledgling`: the small UCI engine that comes with the package, for a first match.

On its own it speaks UCI on standard input and output; words are one command to carry out, such as
`rookery fledgling bench`. `rookery match --new rookery-fledgling` starts it by its program's name.
"""

import argparse

from rookery.match.fledgling import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("words", nargs="*", metavar="WORD", help="a UCI command, for example bench")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    return main(parsed.words)
