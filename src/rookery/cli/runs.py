"""`rookery runs`: lists the runs of a server, looks into one, and does to it what people may."""

import argparse
from collections.abc import Callable, Sequence

from msgspec import UnsetType

from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.protocol import v1

EXAMPLES = """\
examples:

  rookery runs list --state active
  rookery runs show RUN --style openbench
  rookery runs stop RUN --message 'wrong branch'
  rookery runs diagnosis RUN"""
MOVES: dict[str, tuple[str, Callable[[Client, str], v1.RunSummary]]] = {
    "withdraw": ("take a run's approval back", Client.withdraw),
    "reopen": ("let a stopped run play on", Client.reopen),
    "delete": ("hide a run from lists, stopped", Client.delete),
    "restore": ("show a deleted run again", Client.restore),
}


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
    purging = add_server_command(commands, "purge", "take out what can't be trusted", _purge)
    moving = [
        add_server_command(commands, name, purpose, _move(move))
        for name, (purpose, move) in MOVES.items()
    ]
    looking = _add_insights(commands)
    for each in (showing, stopping, approving, purging, *moving, *looking):
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


def _add_insights(commands: Subcommands) -> list[argparse.ArgumentParser]:
    found = [
        add_server_command(commands, "diagnosis", "say why a run is not moving", _diagnosis),
        add_server_command(commands, "samples", "list the points of its chart", _samples),
    ]
    for name, purpose, work in (
        ("residuals", "list workers by how far they differ from the others", _residuals),
        ("bad-tasks", "list tasks whose results were struck out", _bad_tasks),
        ("provenance", "list how its games were played, batch by batch", _provenance),
        ("games", "list its games: outcome, ending, half moves, opening", _games),
    ):
        parser = add_server_command(commands, name, purpose, work)
        parser.add_argument("--page", type=int, default=1, metavar="N", help="from 1 on")
        parser.add_argument("--size", type=int, default=50, metavar="N", help="rows of a page")
        found.append(parser)
    return found


def _move(
    move: Callable[[Client, str], v1.RunSummary],
) -> Callable[[Client, argparse.Namespace], None]:
    return lambda client, parsed: _tell(move(client, client.find_run(parsed.id)), parsed)


def _purge(client: Client, parsed: argparse.Namespace) -> None:
    found = client.purge(client.find_run(parsed.id))
    told = f"{found.tasks} tasks with {found.games} games are taken out."
    tell(found, parsed, "The purge is under way." if found.under_way else told)


def _diagnosis(client: Client, parsed: argparse.Namespace) -> None:
    found = client.diagnosis(client.find_run(parsed.id))
    lines = [f"{found.finding}: {found.sentence}"]
    lines += [f"  {figure.name}: {figure.value}" for figure in found.evidence]
    tell(found, parsed, "\n".join(lines))


def _samples(client: Client, parsed: argparse.Namespace) -> None:
    found = client.samples(client.find_run(parsed.id))
    rows = [
        (f"{at.time:%Y-%m-%d %H:%M}", str(at.games), f"{at.llr:.2f}", str(at.cores), _bins(at))
        for at in found.samples
    ]
    tell(found, parsed, table(("time", "games", "LLR", "cores", "pairs"), rows))


def _bins(at: v1.SampleEntry) -> str:
    return " ".join(map(str, at.pentanomial))


def _residuals(client: Client, parsed: argparse.Namespace) -> None:
    found = client.residuals(client.find_run(parsed.id), parsed.page, parsed.size)
    rows = [
        (each.worker, str(each.results.games), _sigmas(each.residual), each.colour or "")
        for each in found.workers
    ]
    _tell_page(found, parsed, ("worker", "games", "sigmas", "colour"), rows)
    if not parsed.json and isinstance(found.p_value, float):
        print(f"All of them: chi-square {found.chi_square:.1f}, p {found.p_value:.3f}")


def _bad_tasks(client: Client, parsed: argparse.Namespace) -> None:
    found = client.bad_tasks(client.find_run(parsed.id), parsed.page, parsed.size)
    rows = [
        (
            str(task.id),
            task.worker,
            str(task.results.games),
            str(task.results.crashes),
            str(task.results.time_losses),
            _sigmas(task.residual),
        )
        for task in found.tasks
    ]
    heads = ("task", "worker", "games", "crashes", "time losses", "sigmas")
    _tell_page(found, parsed, heads, rows)


def _provenance(client: Client, parsed: argparse.Namespace) -> None:
    found = client.provenance(client.find_run(parsed.id), parsed.page, parsed.size)
    rows = [
        (
            str(each.task),
            f"{each.time:%Y-%m-%d %H:%M}",
            str(each.games),
            f"{each.runner} {each.version}",
            f"{each.factor:.3f}",
            f"{each.latency_ms:.1f}",
        )
        for each in found.batches
    ]
    heads = ("task", "time", "games", "runner", "scaled by", "late in ms")
    _tell_page(found, parsed, heads, rows)


def _games(client: Client, parsed: argparse.Namespace) -> None:
    found = client.games(client.find_run(parsed.id), parsed.page, parsed.size)
    rows = [
        (
            str(game.task),
            str(game.number),
            game.outcome,
            game.ending,
            "white" if game.new_is_white else "black",
            str(game.plies),
            game.opening,
        )
        for game in found.games
    ]
    heads = ("task", "game", "outcome", "ending", "new plays", "half moves", "opening")
    _tell_page(found, parsed, heads, rows)


def _tell_page(
    found: v1.PageOf,
    parsed: argparse.Namespace,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> None:
    more = f"\nThere are more: --page {found.page + 1}" if found.more else ""
    tell(found, parsed, table(heads, rows) + more)


def _sigmas(residual: float | UnsetType) -> str:
    return f"{residual:.1f}" if isinstance(residual, float) else ""


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
