"""`rookery runs` and `rookery machine`: show a server's runs and machines, and change them."""

from collections.abc import Callable
from typing import Annotated

from rookery.core.client.client import Client
from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import Column, command_group, if_known, option, print_json
from rookery.core.protocol import v1

runs = command_group(
    "runs",
    "List the runs of a server, show one, approve or stop it.",
    """\
  rookery runs list --state active
  rookery runs show RUN --style openbench
  rookery runs stop RUN --message 'wrong branch'
  rookery runs diagnosis RUN""",
)
RunId = Annotated[str, option("id of the run, or an unambiguous beginning of it", name="RUN")]
Page = Annotated[int, option("page to show, from 1", "N")]
Size = Annotated[int, option("rows per page", "N")]


@runs.command(name="list")
def list_runs(
    *,
    state: Annotated[
        v1.ListedState, option("only runs in this state", "STATE")
    ] = v1.ListedState.UNFINISHED,
    owner: Annotated[str, option("only runs of this user", "NAME")] = "",
    page: Page = 1,
    size: Size = 50,
    server: ServerFlags = THE_SERVER,
) -> None:
    """List runs, unfinished ones unless asked otherwise."""
    found = server.client.runs(state=state, owner=owner, page=page, size=size)
    columns: list[Column] = [
        ("id", "{.id}"),
        ("state", "{.state}"),
        ("owner", "{.owner}"),
        ("test", "{0.new_tag} vs {0.base_tag}"),
        ("tc", "{.tc}"),
        ("games", "{0.results.games}/{0.num_games}"),
        ("LLR", if_known("llr", "{:.2f}")),
    ]
    server.print_table(found, found.runs, columns)


@runs.command
def show(
    run: RunId,
    /,
    *,
    style: Annotated[
        v1.SummaryStyle, option("format of the summary", "STYLE")
    ] = v1.SummaryStyle.FISHTEST,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Show the state and results of a run."""
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
    message: Annotated[str, option("reason, for the log", "TEXT")] = "",
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
    records: Annotated[
        str, option("digest of the engine records that you reviewed", "DIGEST")
    ] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Approve a run, so that it is played."""
    client = server.client
    _tell_state(server, client.approve(client.find_run(run), records))


def _add_change(name: str, change: Callable[[Client, str], v1.RunSummary], purpose: str) -> None:
    """Add a command that takes only a run, and prints the run's state afterwards."""

    def command(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
        client = server.client
        _tell_state(server, change(client, client.find_run(run)))

    runs.command(command, name=name, help=purpose)


_add_change("withdraw", Client.withdraw, "Withdraw a run's approval.")
_add_change("reopen", Client.reopen, "Continue a stopped run.")
_add_change("delete", Client.delete, "Stop a run, and hide it from lists.")
_add_change("restore", Client.restore, "Show a deleted run again.")


@runs.command
def purge(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Remove results that can't be trusted from a run."""
    client = server.client
    found = client.purge(client.find_run(run))
    told = f"{found.tasks} tasks with {found.games} games are purged."
    server.tell(found, "The purge is under way." if found.under_way else told)


@runs.command
def diagnosis(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Say why a run does not progress."""
    client = server.client
    found = client.diagnosis(client.find_run(run))
    lines = [f"{found.finding}: {found.sentence}"]
    lines += [f"  {figure.name}: {figure.value}" for figure in found.evidence]
    server.tell(found, "\n".join(lines))


@runs.command
def samples(run: RunId, /, *, server: ServerFlags = THE_SERVER) -> None:
    """List the points of a run's chart."""
    client = server.client
    found = client.samples(client.find_run(run))
    columns: list[Column] = [
        ("time", "{.time:%Y-%m-%d %H:%M}"),
        ("games", "{.games}"),
        ("LLR", "{.llr:.2f}"),
        ("cores", "{.cores}"),
        ("nps", if_known("nps", "{:,.0f}", "-")),
        ("pairs", lambda sample: " ".join(map(str, sample.pentanomial))),
    ]
    server.print_table(found, found.samples, columns)


@runs.command
def residuals(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List workers by how far their results differ from the others'."""
    client = server.client
    found = client.residuals(client.find_run(run), page, size)
    columns: list[Column] = [
        ("worker", "{.worker}"),
        ("games", "{.results.games}"),
        ("sigmas", if_known("residual", "{:.1f}")),
        ("colour", if_known("colour")),
    ]
    server.print_table(found, found.workers, columns)
    if not server.json and isinstance(found.p_value, float):
        print(f"All of them: chi-square {found.chi_square:.1f}, p {found.p_value:.3f}")


@runs.command
def bad_tasks(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List tasks whose results were removed."""
    client = server.client
    found = client.bad_tasks(client.find_run(run), page, size)
    columns: list[Column] = [
        ("task", "{.id}"),
        ("worker", "{.worker}"),
        ("games", "{.results.games}"),
        ("crashes", "{.results.crashes}"),
        ("time losses", "{.results.time_losses}"),
        ("sigmas", if_known("residual", "{:.1f}")),
    ]
    server.print_table(found, found.tasks, columns)


@runs.command
def provenance(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List how a run's games were played, batch by batch."""
    client = server.client
    found = client.provenance(client.find_run(run), page, size)
    columns: list[Column] = [
        ("task", "{.task}"),
        ("time", "{.time:%Y-%m-%d %H:%M}"),
        ("games", "{.games}"),
        ("runner", "{0.runner} {0.version}"),
        ("scaled by", "{.factor:.3f}"),
        ("late in ms", "{.latency_ms:.1f}"),
    ]
    server.print_table(found, found.batches, columns)


@runs.command
def games(
    run: RunId, /, *, page: Page = 1, size: Size = 50, server: ServerFlags = THE_SERVER
) -> None:
    """List a run's games: outcome, ending, half moves, opening."""
    client = server.client
    found = client.games(client.find_run(run), page, size)
    columns: list[Column] = [
        ("task", "{.task}"),
        ("game", "{.number}"),
        ("outcome", "{.outcome}"),
        ("ending", "{.ending}"),
        ("new plays", lambda game: "white" if game.new_is_white else "black"),
        ("half moves", "{.plies}"),
        ("opening", "{.opening}"),
    ]
    server.print_table(found, found.games, columns)


def _tell_state(server: ServerFlags, run: v1.RunSummary) -> None:
    server.tell(run, f"Run {run.id} is {run.state}.")


machine = command_group(
    "machine",
    "List the machines of a server, show one, block or unblock it.",
    """\
  rookery machine list
  rookery machine show olga-8cores-1a2b3c4d
  rookery machine block olga-8cores-1a2b3c4d --message 'too hot'""",
)
MachineName = Annotated[str, option("as `rookery machine list` shows it", name="MACHINE")]


@machine.command(name="list")
def list_machines(*, server: ServerFlags = THE_SERVER) -> None:
    """List machines that are playing, and blocked ones."""
    found = server.client.workers()
    columns: list[Column] = [
        ("machine", "{.name}"),
        ("state", _state),
        ("cores", lambda worker: str(worker.cores or "")),
        ("processor", lambda worker: worker.cpu or worker.arch),
        ("system", "{.system}"),
        ("compiler", "{.compiler}"),
        ("run", if_known("run")),
    ]
    server.print_table(found, found.workers, columns)


@machine.command(name="show")
def show_machine(name: MachineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Show a machine and its latest log entries."""
    found = server.client.machine(name)
    if server.json:
        print_json(found)
        return
    print(f"{found.name}: {_state(found)}")
    facts = (found.cpu, found.arch, found.system, found.compiler)
    print(f"{found.cores} cores, {', '.join(filter(None, facts)) or 'nothing else is known'}")
    for word in found.words:
        print(f"{word.at:%Y-%m-%d %H:%M} {word.action}: {word.message or ''}")


@machine.command
def block(
    name: MachineName,
    /,
    *,
    message: Annotated[str, option("reason, which the machine's owner sees", "TEXT")],
    server: ServerFlags = THE_SERVER,
) -> None:
    """Block a machine: it gets no more tasks."""
    found = server.client.block_machine(name, message)
    server.tell(found, f"{found.name} is blocked.")


@machine.command
def unblock(name: MachineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Unblock a machine."""
    found = server.client.unblock_machine(name)
    server.tell(found, f"{found.name} is unblocked.")


def _state(worker: v1.WorkerEntry) -> str:
    if worker.blocked:
        return f"blocked: {worker.message}" if worker.message else "blocked"
    return "playing" if isinstance(worker.run, str) else "waiting"
