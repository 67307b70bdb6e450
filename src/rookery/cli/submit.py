"""`rookery submit`: creates a run on a server."""

import argparse
import json
import sys
from pathlib import Path

import msgspec

from rookery.cli.calling import add_server, client_of
from rookery.cli.submit_programs import programs_in, uploaded, with_defaults
from rookery.core.complaint import Complaint

TEXTS = (
    ("--new", "new_tag", "TAG|FILE", "name of the new version, or a program such as ./new"),
    ("--base", "base_tag", "TAG|FILE", "what it plays against, likewise"),
    ("--new-commit", "resolved_new", "SHA", "its commit, 40 hex digits"),
    ("--base-commit", "resolved_base", "SHA", "the other commit"),
    ("--new-bench", "new_signature", "N", "nodes of its bench"),
    ("--base-bench", "base_signature", "N", "nodes of the other bench"),
    ("--repo", "tests_repo", "URL", "where both versions come from"),
    ("--tc", "tc", "TC", "time control, such as 10+0.1 or N=25000"),
    ("--new-tc", "new_tc", "TC", "another one for the new version"),
    ("--book", "book", "NAME", "opening book"),
    ("--book-sri", "book_sri", "HASH", "the book's hash"),
    ("--new-options", "new_options", "OPTIONS", "such as 'Hash=16 Foo=3'"),
    ("--base-options", "base_options", "OPTIONS", "those of the base version"),
    ("--info", "info", "TEXT", "what it is about"),
)
NUMBERS = (
    ("--games", "num_games", "how many at the most"),
    ("--threads", "threads", "of each engine"),
    ("--priority", "priority", "higher ones go first"),
    ("--throughput", "throughput", "its weight in per cent"),
)


class BadSubmission(Complaint):
    """What was given on the command line can't be sent."""

    exit_code = 2


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "submit",
        help="create a run on a server",
        description="Creates a run from a JSON file, from flags, or from a file of which flags"
        " change some fields. The fields are those that a run's `args` have. Where --new or"
        " --base is a program on this machine, it is uploaded and played as it is.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="JSON with fields; - for stdin")
    for flag, field, metavar, purpose in TEXTS:
        parser.add_argument(flag, dest=field, metavar=metavar, help=purpose)
    for flag, field, purpose in NUMBERS:
        parser.add_argument(flag, dest=field, type=int, metavar="N", help=purpose)
    parser.add_argument("--sprt", type=_bounds, metavar="ELO0,ELO1", help="a sequential test")
    parser.add_argument("--spsa", type=Path, metavar="FILE", help="a tune of these parameters")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=JSON",
        help="any other field, such as auto_purge=true",
    )
    add_server(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    client, fields = client_of(parsed), fields_of(parsed)
    if programs := programs_in(fields):
        fields = uploaded(with_defaults(fields), programs, client)
    made = client.submit(fields)
    if parsed.json:
        print(msgspec.json.encode(made).decode())
        return 0
    for warning in made.warnings:
        print(f"Warning: {warning}.", file=sys.stderr)
    print(f"Submitted run {made.id}, which is {made.state}.")
    return 0


def fields_of(parsed: argparse.Namespace) -> dict[str, object]:
    """The file's fields, and over them those that flags name."""
    fields = _from_file(parsed.file) if parsed.file else {}
    given = vars(parsed)
    names = [field for _, field, *_ in (*TEXTS, *NUMBERS)]
    fields |= {name: given[name] for name in names if given[name] is not None}
    if parsed.sprt is not None:
        fields["sprt"] = parsed.sprt
    if parsed.spsa is not None:
        fields["spsa"] = {"raw_params": _text(parsed.spsa)}
    return fields | dict(map(_assignment, parsed.set))


def _from_file(name: str) -> dict[str, object]:
    text = sys.stdin.read() if name == "-" else _text(Path(name))
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise BadSubmission(f"{name} is not a JSON object: {error}.") from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadSubmission(f"{file} can't be read.") from None


def _bounds(text: str) -> dict[str, float]:
    try:
        elo0, elo1 = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("expected two numbers such as 0,2") from None
    return {"elo0": elo0, "elo1": elo1}


def _assignment(text: str) -> tuple[str, object]:
    """A value that is no JSON is the text itself, so that few things need quotes."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadSubmission(f"{text!r} is not of the form FIELD=JSON.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
