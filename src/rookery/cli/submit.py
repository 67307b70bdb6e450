"""`rookery submit`: creates a run on a server, after saying what it will take."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.cli import watch
from rookery.cli.calling import add_server, print_json, tell, transport_of
from rookery.cli.submit_fields import (
    NUMBERS,
    TEXTS,
    BadSubmission,
    bounds,
    estimate,
    fields_of,
    flag_of,
    programs_in,
    try_programs,
    uploaded,
    with_hashes,
)
from rookery.client.client import Client
from rookery.http_client import CallRefused
from rookery.protocol import v1

SECONDS = 200.0
"""The server may have to ask others, and to fetch sources."""
ASKED_FROM_CORE_HOURS = 4.0
"""From this cost on a person at a terminal is asked whether it is meant."""
BAD_REQUEST = 400
FIELD = re.compile(r"[a-z_0-9.]{1,60}", re.ASCII)
NEXT = {"pending": "waits for an approver", "paused": "waits for a machine"}


EXAMPLES = """\
examples:

  rookery submit Ethereal my-branch --preset STC --wait
  rookery submit --new ./engine-new --base ./engine-base --preset quick
  rookery submit --new ./engine-new --base ./engine-base --tc 10+0.1 --sprt 0,5
  rookery submit run.json --dry-run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.description = (
        "Creates a run: of an engine's BRANCH, of two programs on this machine (--new"
        " ./engine-new --base ./engine-base), from a JSON FILE, or from flags alone. Flags win"
        " over a preset, and over a file. The fields are those that a run's `args` have. How long"
        " the run should take is said before it is made. With --wait the exit code is the verdict:"
        " 0 accepted, or finished without a test; 1 rejected; 4 undecided or failed."
    )
    parser.add_argument("what", nargs="*", metavar="ENGINE BRANCH | FILE",
                        help="an engine that the server knows and a branch, tag or commit of it;"
                        " or JSON with fields, - for stdin")  # fmt: skip
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="one of the engine's; `quick` is for all: 1+0.01, bounds 0,30",
    )
    for flag, field, metavar, purpose in TEXTS:
        parser.add_argument(flag, dest=field, metavar=metavar, help=purpose)
    for flag, field, purpose in NUMBERS:
        parser.add_argument(flag, dest=field, type=int, metavar="N", help=purpose)
    parser.add_argument("--sprt", type=bounds, metavar="ELO0,ELO1", help="a sequential test")
    parser.add_argument("--spsa", type=Path, metavar="FILE", help="a tune of these parameters")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=JSON",
                        help="any other field, such as auto_purge=true")  # fmt: skip
    parser.add_argument("--wait", action="store_true", help="until the run is over")
    parser.add_argument("--dry-run", action="store_true", help="say what it would take, no more")
    parser.add_argument("--yes", action="store_true", help="do not ask, however much it costs")
    parser.add_argument("--untried", action="store_true",
                        help="upload programs that can't be started on this machine")  # fmt: skip
    add_server(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    client = Client(transport_of(parsed, seconds=SECONDS))
    fields = fields_of(parsed, client)
    programs = programs_in(fields)
    if not parsed.untried:
        try_programs(programs.values())
    with _flags_named():
        preview = client.preview(with_hashes(fields, programs))
    tell_preview(preview, parsed)
    if parsed.dry_run:
        return 0
    if not (parsed.yes or _is_meant(preview)):
        print("Nothing was submitted.", file=sys.stderr)
        return 1
    with _flags_named():
        made = client.submit(uploaded(_with_findings(fields, preview), programs, client))
    _tell_made(made, parsed, client.address_of(made.id))
    if not parsed.wait:
        return 0
    return watch.run(argparse.Namespace(**vars(parsed) | {"id": made.id}))


def tell_preview(preview: v1.Preview, parsed: argparse.Namespace) -> None:
    """To stderr where the run is what was asked for."""
    if parsed.json:
        if parsed.dry_run:
            print_json(preview)
        return
    out = sys.stdout if parsed.dry_run else sys.stderr
    print(estimate(preview), file=out)
    for warning in preview.warnings:
        print(f"Warning: {warning}.", file=sys.stderr)


def _with_findings(fields: dict[str, object], preview: v1.Preview) -> dict[str, object]:
    """What was looked up for the preview need not be looked up again, and has not changed since."""
    args = preview.args
    found = {
        "resolved_new": args.resolved_new,
        "resolved_base": args.resolved_base,
        "new_signature": args.new_signature,
        "base_signature": args.base_signature,
        "msg_new": args.msg_new,
        "msg_base": args.msg_base,
        "info": args.info,
    }
    return {name: text for name, text in found.items() if text} | fields


@contextmanager
def _flags_named() -> Iterator[None]:
    """What the server finds wrong with a field is told as the flag that gives the field."""
    try:
        yield
    except CallRefused as refused:
        field, colon, text = refused.text.partition(": ")
        if refused.status != BAD_REQUEST or not colon or not FIELD.fullmatch(field):
            raise
        raise BadSubmission(f"{flag_of(field)}: {text.rstrip('.')}.") from None


def _is_meant(preview: v1.Preview) -> bool:
    """Asks a person at a terminal about an expensive run; a script means what it says."""
    if preview.core_hours < ASKED_FROM_CORE_HOURS or not sys.stdin.isatty():
        return True
    question = f"That is about {preview.core_hours:,.0f} core hours. Submit it? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell_made(made: v1.Made, parsed: argparse.Namespace, address: str) -> None:
    then = NEXT.get(made.state, "is under way")
    tell(made, parsed, f"Submitted run {made.id}, which {then}: {address}")
