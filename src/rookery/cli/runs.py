"""`rookery runs`: lists the runs of a server, shows one, approves or stops it."""

import argparse

from rookery.cli.calling import add_server_command, print_json, tell
from rookery.cli.subcommands import Subcommands
from rookery.cli.tables import table
from rookery.client import Client
from rookery.protocol import v1

EXAMPLES = """\
examples:

  rookery runs list --state active
  rookery runs show RUN --style openbench
  rookery runs stop RUN --message 'wrong branch'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    listing = add_server_command(
        commands, "list", "list runs, unfinished ones unless asked otherwise", _list
    )
    states = [state.value for state in v1.ListedState]
    listing.add_argument("--state", choices=states, default=states[0], metavar="STATE",
                         help=f"one of {', '.join(states)}")  # fmt: skip
    listing.add_argument("--owner", default="", metavar="NAME", help="only those of one user")
    listing.add_argument("--page", type=int, default=1, metavar="N", help="from 1 on")
    listing.add_argument("--size", type=int, default=50, metavar="N", help="rows of a page")
    showing = add_server_command(commands, "show", "show how a run stands", _show)
    styles = [style.value for style in v1.HouseStyle]
    showing.add_argument("--style", choices=styles, default=styles[0], metavar="STYLE",
                         help=f"whose words: {' or '.join(styles)}")  # fmt: skip
    stopping = add_server_command(commands, "stop", "stop a run", _stop)
    stopping.add_argument("--message", default="", metavar="TEXT", help="why")
    approving = add_server_command(commands, "approve", "let a run be played", _approve)
    approving.add_argument(
        "--records", default="", metavar="DIGEST", help="of the engine records you looked at"
    )
    for each in (showing, stopping, approving):
        each.add_argument("id", metavar="RUN", help="its id, or as much of it as names no other")


def _list(client: Client, parsed: argparse.Namespace) -> None:
    state = v1.ListedState(parsed.state)
    found = client.runs(state=state, owner=parsed.owner, page=parsed.page, size=parsed.size)
    if parsed.json:
        print_json(found)
        return
    heads = ("id", "state", "owner", "test", "tc", "games", "LLR")
    print(table(heads, [_row(run) for run in found.runs]))
    if found.more:
        print(f"There are more: --page {found.page + 1}")


def _show(client: Client, parsed: argparse.Namespace) -> None:
    run = client.run(client.find_run(parsed.id))
    if parsed.json:
        print_json(run)
        return
    print(f"{run.new_tag} vs {run.base_tag} by {run.owner}: {run.state}")
    if run.info:
        print(run.info)
    print(client.summary(run.id, v1.HouseStyle(parsed.style)), end="")
    print(f"Workers: {run.workers}, cores: {run.cores}")


def _approve(client: Client, parsed: argparse.Namespace) -> None:
    _tell(client.approve(client.find_run(parsed.id), parsed.records), parsed)


def _stop(client: Client, parsed: argparse.Namespace) -> None:
    _tell(client.stop(client.find_run(parsed.id), parsed.message), parsed)


def _tell(run: v1.RunSummary, parsed: argparse.Namespace) -> None:
    tell(run, parsed, f"Run {run.id} is {run.state}.")


def _row(run: v1.RunSummary) -> tuple[str, ...]:
    results = run.results
    games = results.wins + results.losses + results.draws
    return (
        run.id,
        run.state.value,
        run.owner,
        f"{run.new_tag} vs {run.base_tag}",
        run.tc,
        f"{games}/{run.num_games}",
        f"{run.llr:.2f}" if isinstance(run.llr, float) else "",
    )
