"""`rookery submit`: creates a run on a server, after showing its expected duration."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TextIO

from rich.console import Console
from rich.prompt import Confirm

from rookery.cli.commands.submit_fields import (
    RunFlags,
    find_flag,
    find_programs,
    gather_fields,
    try_programs,
    upload_programs,
    with_hashes,
)
from rookery.cli.commands.watch import watch
from rookery.core.client.client import Client
from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import OR_STDIN, BadArgument, Column, option, print_json, print_table
from rookery.core.http_failures import CallRefused
from rookery.core.protocol import v1
from rookery.core.protocol.runs import fold

NO_FLAGS = RunFlags()
SECONDS = 200.0
"""How long to wait for an answer: the server may have to ask other servers and to fetch sources."""
ASKED_FROM_CORE_HOURS = 4.0
"""From this cost on, a person at a terminal is asked for confirmation."""
BAD_REQUEST = 400
FIELD = re.compile(r"[a-z_0-9.]{1,60}", re.ASCII)
NEXT = {"pending": "waits for an approver", "paused": "waits for a machine"}


Words = Annotated[
    list[str],
    OR_STDIN,
    option(
        "ENGINE BRANCH: an engine that the server knows and a branch, tag or commit of it; or FILE:"
        " JSON with fields, - for stdin",
        name="WHAT",
    ),
]


def submit(  # noqa: PLR0913 - each is a flag
    what: Words | None = None,
    /,
    *,
    preset: Annotated[
        str | None,
        option(
            "preset of the engine, or `quick` (1+0.01, bounds 0,30), which all engines have", "NAME"
        ),
    ] = None,
    flags: RunFlags = NO_FLAGS,
    wait: Annotated[bool, option("wait until the run is over")] = False,
    dry_run: Annotated[bool, option("only show how long it would take")] = False,
    yes: Annotated[bool, option("don't ask for confirmation")] = False,
    untried: Annotated[
        bool, option("upload programs even if they don't start on this machine")
    ] = False,
    server: ServerFlags = THE_SERVER,
) -> int:
    """Create a run; shows first how long it should take.

    It tests a BRANCH of an engine, two programs on this machine, or what a JSON FILE or flags alone
    describe. Flags override a preset and a file. The file has the fields of a run's `args`.

    With --wait the exit code is the verdict: 0 accepted, or finished without a test; 1 rejected; 4
    undecided or failed.

    examples:

      rookery submit Ethereal my-branch --preset STC --wait
      rookery submit --new ./engine-new --base ./engine-base --preset quick
      rookery submit --new ./engine-new --base ./engine-base --tc 10+0.1 --sprt 0 5
      rookery submit run.json --dry-run
    """
    client = Client(server.transport(seconds=SECONDS))
    found = gather_fields(what or (), preset, flags, client)
    programs = find_programs(found)
    if not untried:
        try_programs(programs.values())
    with _flags_named():
        preview = client.preview(with_hashes(found, programs))
    tell_preview(preview, dry_run=dry_run, as_json=server.json)
    if dry_run:
        return 0
    if not (yes or _is_meant(preview)):
        print("Nothing was submitted.", file=sys.stderr)
        return 1
    with _flags_named():
        made = client.submit(upload_programs(_with_findings(found, preview), programs, client))
    then = f"{NEXT.get(made.state, 'is under way')}: {client.address_of(made.id)}"
    server.tell(made, f"Submitted run {made.id}, which {then}")
    return watch(made.id, server=server) if wait else 0


def tell_preview(preview: v1.Preview, *, dry_run: bool, as_json: bool) -> None:
    """Print the estimate, on standard error unless only the estimate was asked for."""
    if as_json:
        if dry_run:
            print_json(preview)
        return
    print_estimate(preview, sys.stdout if dry_run else sys.stderr)
    for warning in preview.warnings:
        print(f"Warning: {warning}.", file=sys.stderr)


LOOKED_UP = (
    "resolved_new", "resolved_base", "new_signature", "base_signature", "msg_new", "msg_base",
    "info",
)  # fmt: skip


def _with_findings(fields: dict[str, object], preview: v1.Preview) -> dict[str, object]:
    """Return the fields with what the preview has found, so that it need not be looked up again."""
    found = {key: preview.args[key] for key in LOOKED_UP}
    return {name: text for name, text in found.items() if text} | fields


@contextmanager
def _flags_named() -> Iterator[None]:
    """Turn the server's error about a field into one about the corresponding flag."""
    try:
        yield
    except CallRefused as refused:
        field, colon, text = refused.text.partition(": ")
        if refused.status != BAD_REQUEST or not colon or not FIELD.fullmatch(field):
            raise
        raise BadArgument(f"{find_flag(field)}: {text.rstrip('.')}.") from None


def _is_meant(preview: v1.Preview) -> bool:
    """Ask a person at a terminal to confirm an expensive run. Scripts are not asked."""
    if preview.core_hours < ASKED_FROM_CORE_HOURS or not sys.stdin.isatty():
        return True
    question = f"That is about {preview.core_hours:,.0f} core hours. Submit it?"
    return Confirm.ask(question, default=False, console=Console(stderr=True))


# The expected duration and cost of a run, in words, before it is created.

FEW_HOURS = 48
LENGTHS: tuple[Column, ...] = (
    ("if it is worth", "{.elo:+g}"),
    ("it passes", "{.pass_chance:.0%}"),
    ("mean games", "{.mean_games:,.0f}"),
    ("8 of 10 tests take", "{0.early_games:,.0f} to {0.late_games:,.0f}"),
)


def print_estimate(preview: v1.Preview, out: TextIO) -> None:
    plan = fold(preview.args)
    new, base = (f"{side.tag} ({side.commit[:8]})" for side in plan.sides)
    print(f"{new} vs {base}, {plan.tc}, {plan.book}", file=out)
    if preview.lengths:
        print_table(LENGTHS, preview.lengths, out)
    hours, games = _amount(preview.core_hours), f"{preview.games:,.0f}"
    print(f"Cost: about {hours} core hours, for {games} games.", file=out)
    print(_fleet(preview.fleet), file=out)


def _fleet(fleet: v1.FleetNow) -> str:
    if not isinstance(fleet.hours, float):
        return "No machine that could play it is connected right now."
    which = "With the one machine" if fleet.machines == 1 else f"With all {fleet.machines} machines"
    cores = "1 core" if fleet.cores == 1 else f"{fleet.cores} cores"
    return f"{which} connected that could play it ({cores}): {_hours(fleet.hours)}."


def _hours(hours: float) -> str:
    if hours < 1:
        return f"about {max(1, round(hours * 60))} minutes"
    if hours < FEW_HOURS:
        return f"about {hours:.1f} hours"
    return f"about {hours / 24:.0f} days"


def _amount(number: float) -> str:
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"
