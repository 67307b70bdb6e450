"""`rookery runs` and `rookery machine`: what a server's runs and machines do, and what people may
do to them."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UnsetType

from rookery.cli.login import THE_SERVER, ServerFlags
from rookery.cli.options import command_group, option, print_json, print_table
from rookery.protocol import v1

runs = command_group(
    "runs",
    "List the runs of a server, look into one, approve or stop it.",
    """\
  rookery runs list --state active
  rookery runs show RUN --style openbench
  rookery runs stop RUN --message 'wrong branch'
  rookery runs diagnosis RUN""",
)
RunId = Annotated[str, option("its id, or as much of it as names no other", name="RUN")]
Page = Annotated[int, option("from 1 on", "N")]
Size = Annotated[int, option("rows of a page", "N")]


@runs.command(name="list")
def list_runs(
    *,
    state: Annotated[v1.ListedState, option("which ones", "STATE")] = v1.ListedState.UNFINISHED,
    owner: Annotated[str, option("only those of one user", "NAME")] = "",
    page: Page = 1,
    size: Size = 50,
    server: ServerFlags = THE_SERVER,
) -> None:
    """List runs, unfinished ones unless asked otherwise."""
    found = server.client.runs(state=state, owner=owner, page=page, size=size)
    rows = [
        (
            run.id,
            run.state.value,
            run.owner,
            f"{run.new_tag} vs {run.base_tag}",
            run.tc,
            f"{run.results.games}/{run.num_games}",
            f"{run.llr:.2f}" if isinstance(run.llr, float) else "",
        )
        for run in found.runs
    ]
    _print_page(server, found, ("id", "state", "owner", "test", "tc", "games", "LLR"), rows)


@runs.command
def show(
    run: RunId,
    /,
    *,
    style: Annotated[v1.HouseStyle, option("whose words", "STYLE")] = v1.HouseStyle.FISHTEST,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Show how a run stands."""
    client = server.client
    found = client.run(client.find_run(run))
    if server.json:
        print_json(found)
        return
    print(f"{found.new_tag} vs {found.base_tag} by {found.owner}: {found.state}")
    if found.info:
        print(found.info)
    print(client.summary(found.id, style), end="")
    print(f"Workers: {found.workers}, cores: {found.cores}")


@runs.command
def stop(
    run: RunId,
    /,
    *,
    message: Annotated[str, option("why", "TEXT")] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Stop a run."""
    client = server.client
    _tell_state(server, client.stop(client.find_run(run), message))


@runs.command
def approve(
    run: RunId,
    /,
    *,
    records: Annotated[str, option("of the engine records you looked at", "DIGEST")] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Let a run be played."""
    client = server.client
    _tell_state(server, client.approve(client.find_run(run), records))


@runs.command
def withdraw(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Take a run's approval back."""
    client = server.client
    _tell_state(server, client.withdraw(client.find_run(run)))


@runs.command
def reopen(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Let a stopped run play on."""
    client = server.client
    _tell_state(server, client.reopen(client.find_run(run)))


@runs.command
def delete(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Hide a run from lists, stopped."""
    client = server.client
    _tell_state(server, client.delete(client.find_run(run)))


@runs.command
def restore(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Show a deleted run again."""
    client = server.client
    _tell_state(server, client.restore(client.find_run(run)))


@runs.command
def purge(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Take out what can't be trusted."""
    client = server.client
    found = client.purge(client.find_run(run))
    told = f"{found.tasks} tasks with {found.games} games are taken out."
    server.tell(found, "The purge is under way." if found.under_way else told)


@runs.command
def diagnosis(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Say why a run is not moving."""
    client = server.client
    found = client.diagnosis(client.find_run(run))
    lines = [f"{found.finding}: {found.sentence}"]
    lines += [f"  {figure.name}: {figure.value}" for figure in found.evidence]
    server.tell(found, "\n".join(lines))


@runs.command
def samples(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """List the points of its chart."""
    client = server.client
    found = client.samples(client.find_run(run))
    if server.json:
        print_json(found)
        return
    rows = [
        (
            f"{at.time:%Y-%m-%d %H:%M}",
            str(at.games),
            f"{at.llr:.2f}",
            str(at.cores),
            " ".join(map(str, at.pentanomial)),
        )
        for at in found.samples
    ]
    print_table(("time", "games", "LLR", "cores", "pairs"), rows)


@runs.command
def residuals(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List workers by how far they differ from the others."""
    client = server.client
    found = client.residuals(client.find_run(run), page, size)
    rows = [
        (each.worker, str(each.results.games), _sigmas(each.residual), each.colour or "")
        for each in found.workers
    ]
    _print_page(server, found, ("worker", "games", "sigmas", "colour"), rows)
    if not server.json and isinstance(found.p_value, float):
        print(f"All of them: chi-square {found.chi_square:.1f}, p {found.p_value:.3f}")


@runs.command
def bad_tasks(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List tasks whose results were struck out."""
    client = server.client
    found = client.bad_tasks(client.find_run(run), page, size)
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
    _print_page(server, found, heads, rows)


@runs.command
def provenance(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List how its games were played, batch by batch."""
    client = server.client
    found = client.provenance(client.find_run(run), page, size)
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
    _print_page(server, found, heads, rows)


@runs.command
def games(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List its games: outcome, ending, half moves, opening."""
    client = server.client
    found = client.games(client.find_run(run), page, size)
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
    _print_page(server, found, heads, rows)


def _print_page(
    server: ServerFlags, found: v1.PageOf, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    if server.json:
        print_json(found)
        return
    print_table(heads, rows)
    if found.more:
        print(f"There are more: --page {found.page + 1}")


def _tell_state(server: ServerFlags, run: v1.RunSummary) -> None:
    server.tell(run, f"Run {run.id} is {run.state}.")


def _sigmas(residual: float | UnsetType) -> str:
    return f"{residual:.1f}" if isinstance(residual, float) else ""


machine = command_group(
    "machine",
    "List the machines of a server, show one, block it or let it back in.",
    """\
  rookery machine list
  rookery machine show olga-8cores-1a2b3c4d
  rookery machine block olga-8cores-1a2b3c4d --message 'too hot'""",
)
MachineName = Annotated[str, option("as `rookery machine list` shows it", name="MACHINE")]


@machine.command(name="list")
def list_machines(*, server: ServerFlags = THE_SERVER) -> None:
    """List machines at play and blocked ones."""
    found = server.client.workers()
    if server.json:
        print_json(found)
        return
    rows = [
        (
            worker.name,
            _state(worker),
            str(worker.cores or ""),
            worker.cpu or worker.arch,
            worker.system,
            worker.compiler,
            worker.run if isinstance(worker.run, str) else "",
        )
        for worker in found.workers
    ]
    print_table(("machine", "state", "cores", "processor", "system", "compiler", "run"), rows)


@machine.command(name="show")
def show_machine(name: MachineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Show a machine and its last words."""
    found = server.client.machine(name)
    if server.json:
        print_json(found)
        return
    print(f"{found.name}: {_state(found)}")
    facts = (found.cpu, found.arch, found.system, found.compiler)
    print(f"{found.cores} cores, {', '.join(filter(None, facts)) or 'nothing known of it'}")
    for word in found.words:
        print(f"{word.at:%Y-%m-%d %H:%M} {word.action}: {word.message or ''}")


@machine.command
def block(
    name: MachineName,
    /,
    *,
    message: Annotated[str, option("why; the machine's owner is told", "TEXT")],
    server: ServerFlags = THE_SERVER,
) -> None:
    """Give a machine no more tasks."""
    found = server.client.block_machine(name, message)
    server.tell(found, f"{found.name} is blocked.")


@machine.command
def unblock(name: MachineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Let a blocked machine back in."""
    found = server.client.unblock_machine(name)
    server.tell(found, f"{found.name} is let back in.")


def _state(worker: v1.WorkerEntry) -> str:
    if worker.blocked:
        return f"blocked: {worker.message}" if worker.message else "blocked"
    return "at play" if isinstance(worker.run, str) else "waiting"
