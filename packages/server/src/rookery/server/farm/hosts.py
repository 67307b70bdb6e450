"""Hosts: the computers that workers run on, told apart by what the workers report.

A restarted worker may come under a new name, so a list of workers would show one computer several
times. Workers of ours report their host's name. Official workers report only hardware, which many
computers may share: workers that are present at the same time are counted as different computers,
and earlier ones as earlier starts of the one heard of last.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from rookery.core.clock import Clock
from rookery.core.model.machine import SHORT_NAME, Machine
from rookery.core.model.run import Run
from rookery.core.model.task import TaskKey
from rookery.core.stats.residuals import Colour
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.published import InThread
from rookery.server.farm.rules.diagnosis import STILL_THERE
from rookery.server.farm.views import KnownMachine, UnknownMachine

HostKey = tuple[str | int, ...]
ROSTER_SECONDS = 5.0
DIFFERENT = (Colour.YELLOW, Colour.RED)


class Host(NamedTuple):
    """A computer and the workers that run or ran on it: those playing first, then the most recently
    heard."""

    workers: tuple[KnownMachine, ...]

    @property
    def latest(self) -> KnownMachine:
        return self.workers[0]

    @property
    def user(self) -> str:
        return self.workers[0].machine.user

    @property
    def playing(self) -> tuple[KnownMachine, ...]:
        return tuple(each for each in self.workers if each.task)

    @property
    def cores_at_play(self) -> int:
        if len(self.workers) == 1:
            only = self.workers[0]
            return only.machine.cores if only.task else 0
        return sum(each.machine.cores for each in self.workers if each.task)


def group_hosts(known: Iterable[KnownMachine], since: datetime) -> Iterator[Host]:
    """Group workers by computer; a worker heard of since `since` is present."""
    groups: dict[HostKey, list[KnownMachine]] = {}
    for each in known:
        key = identify_host(each.machine)
        if key in groups:
            groups[key].append(each)
        else:
            groups[key] = [each]
    for workers in groups.values():
        if len(workers) == 1:
            yield Host((workers[0],))
            continue
        workers.sort(key=_last_heard, reverse=True)
        if workers[0].machine.claimed.host:
            yield Host(tuple(workers))
        else:
            yield from _part_hosts(workers, since)


def _part_hosts(workers: list[KnownMachine], since: datetime) -> Iterator[Host]:
    """Split workers with the same hardware and no host name: each one that is present counts as a
    separate computer."""
    count = sum(1 for each in workers if each.task or each.heard >= since) or 1
    there, gone = workers[:count], workers[count:]
    yield Host((there[0], *gone))
    yield from (Host((each,)) for each in there[1:])


def check_name(name: str) -> None:
    """Raise UnknownMachine for what can't be the name of a machine."""
    if not SHORT_NAME.fullmatch(name):
        raise UnknownMachine(machine=name[:100])


def identify_host(machine: Machine) -> HostKey:
    """Return the key of a host: its name if the worker reports it, else its hardware."""
    if host := machine.claimed.host:
        return machine.user, host
    return machine.user, machine.cores, machine.memory, machine.uname, machine.arch


def _last_heard(each: KnownMachine) -> tuple[bool, datetime]:
    return each.task is not None, each.heard


# All hosts with what lists need, computed once for all readers and kept for a moment: a list of ten
# thousand machines must cost no more than the page that it shows.


class ListedHost(NamedTuple):
    """A host with the values that lists sort, count and search by."""

    host: Host
    user: str
    states: tuple[str, ...]
    """Any of `playing`, `different`, `waiting` and `away`."""
    cores: int
    """The cores that are playing now."""
    words: str
    """The text that a search looks in, in lower case."""


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """The facts about the fleet, at one moment, that decide how hosts are listed."""

    now: datetime
    known: tuple[KnownMachine, ...]
    runs: Mapping[str, Run]
    residual_colours: Mapping[TaskKey, Colour]
    since: datetime | None = None
    """When the primary published the machines' activity; None in the primary."""

    def list_hosts(self) -> tuple[ListedHost, ...]:
        """All hosts, sorted by user, then those playing first, then the larger ones. Slow for a
        large fleet."""
        hosts = sorted(group_hosts(self.known, self.now - STILL_THERE), key=_order)
        return tuple(map(self.describe, hosts))

    def describe(self, host: Host) -> ListedHost:
        words = " ".join(self._words_of(each) for each in host.workers).casefold()
        return ListedHost(host, host.user, self._states_of(host), host.cores_at_play, words)

    def _states_of(self, host: Host) -> tuple[str, ...]:
        activity = host.latest.activity(self.now)
        if activity != "playing":
            return (activity,)
        keys = ((each.task.run, each.task.id) for each in host.workers if each.task)
        differs = any(self.residual_colours.get(key) in DIFFERENT for key in keys)
        return ("playing", "different") if differs else ("playing",)

    def _words_of(self, each: KnownMachine) -> str:
        machine, run = each.machine, self.runs.get(each.run)
        claimed, tag = machine.claimed, run.plan.new.tag if run else ""
        told = f"{claimed.host} {claimed.cpu} {machine.arch} {machine.uname}"
        return f"{machine.short_name} {told} {tag}"


def _order(host: Host) -> tuple[str, bool, int, str]:
    latest = host.latest
    machine = latest.machine
    return machine.user, latest.task is None, -machine.cores, machine.short_name


@dataclass(frozen=True, slots=True)
class Roster:
    """All hosts as they were at one moment."""

    picture: FleetSnapshot
    hosts: tuple[ListedHost, ...]

    def select_visible(
        self, runs: Collection[str], user: str | None, *, approver: bool
    ) -> Iterator[ListedHost]:
        """List hosts that the viewer may see: machines that play one of these runs, the user's own
        ones, and for approvers those that wait."""
        for listed in self.hosts:
            workers = listed.host.workers
            if listed.user == user:
                yield listed
            elif len(workers) == 1:
                only = workers[0]
                if only.task.run in runs if only.task else approver:
                    yield listed
            else:
                seen = tuple(w for w in workers if (w.task.run in runs if w.task else approver))
                if seen:
                    yield listed if len(seen) == len(workers) else self.picture.describe(Host(seen))


class MachineRoster:
    """Keeps the roster for a few seconds; simultaneous callers share one computation."""

    def __init__(self, fleet: Fleet, clock: Clock, in_thread: InThread) -> None:
        self._fleet = fleet
        self._clock = clock
        self._in_thread = in_thread
        self._kept: ExpiringCache[str, Roster] = ExpiringCache(clock, 1)
        self._work: SharedWork[str, Roster] = SharedWork()

    async def load(self) -> Roster:
        """Return the roster; raises what the fleet's views raise during a takeover."""
        return self._kept.get("") or await self._work("", self._make)

    async def _make(self) -> Roster:
        views = self._fleet.views
        runs = {run.id: run for run in await views.active()}
        known, residual_colours = await views.machines(), self._fleet.activity.residual_colours
        now, since = self._clock.now(), views.machines_since
        picture = FleetSnapshot(now, known, runs, residual_colours, since)
        made = Roster(picture, await self._in_thread(picture.list_hosts))
        self._kept.put("", made, ROSTER_SECONDS)
        return made
