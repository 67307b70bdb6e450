"""A run that was not made, as the JSON API shows it: how long it should take, and what it costs."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from rookery.core.events import run_name
from rookery.core.machine import Machine
from rookery.core.rates import core_hours
from rookery.core.run import Run
from rookery.protocol import v1
from rookery.service.submission.expectation import able_machines, expected_games, expected_lengths
from rookery.web.api.documents import args_document


def preview_of(run: Run, warnings: tuple[str, ...], machines: Iterable[Machine]) -> v1.Preview:
    """What a run would be, with the machines that play or wait now; it computes, so that it
    belongs into a thread."""
    games = expected_games(run)
    return v1.Preview(
        name=run_name(run),
        kind=run.kind.name,
        games=games,
        lengths=tuple(_lengths(run)),
        core_hours=core_hours(run, round(games)),
        fleet=_fleet(run, games, able_machines(run, machines)),
        needs=tuple(map(str, run.demands.needs)),
        warnings=warnings,
        args=args_document(run),
    )


def _lengths(run: Run) -> Iterator[v1.ExpectedLength]:
    for length in expected_lengths(run):
        yield v1.ExpectedLength(
            elo=length.elo,
            pass_chance=length.pass_chance,
            mean_games=length.mean_games,
            early_games=length.games.early,
            late_games=length.games.late,
        )


def _fleet(run: Run, games: float, machines: Sequence[Machine]) -> v1.FleetNow:
    """As if each machine had the speed that times are scaled to, and nothing else to do."""
    slots = sum(run.demands.slots(machine.cores) for machine in machines)
    hours = games * run.game_seconds / slots / 3600 if slots else UNSET
    cores = sum(machine.cores for machine in machines)
    return v1.FleetNow(machines=len(machines), cores=cores, hours=hours)
