"""This process as one of several servers on a database: what it tells the others of itself, and
how it hands over to one of them.

    primary --asked, or about to stop--> nothing new is taken --all is committed--> lease let go
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rookery.build_id import describe_version
from rookery.db.lease import Lease
from rookery.db.listening import Channel
from rookery.db.pool import AWAY, make_event_log
from rookery.farm.instances import (
    Instance,
    InstanceFigures,
    OtherInstances,
    Presence,
    read_step_down,
)
from rookery.web.internal_calls import FORM
from rookery.web.site import Site


@asynccontextmanager
async def keep_listed(site: Site, lease: Lease, schema: int) -> AsyncIterator[Presence]:
    """Among the servers of its database for the length of the block."""
    started = site.clock.now()
    site.version = await site.threads.io(describe_version)

    def describe() -> Instance:
        return Instance(
            name=lease.instance,
            address=lease.address,
            version=site.version,
            schema=schema,
            role=site.role,
            started=started,
            figures=take_figures(site),
        )

    def learn(others: OtherInstances) -> None:
        site.internal_key.note_form(FORM if others.reads_form is None else others.reads_form)

    presence = Presence(site.instances, describe, make_event_log(site.log), learn)
    site.other_instances = lambda: presence.other_instances
    handover = Handover(site, lease)
    site.hand_over = handover.before_stop
    lease.on_expiry(handover.give_up)
    site.changes.subscribe(Channel.LEASE, handover.hear, lambda: None)
    async with presence.kept():
        yield presence


def take_figures(site: Site) -> InstanceFigures:
    """How this process does. What the bus has not heard two seconds after it was committed, it will
    not hear any more."""
    watch, behind = site.watch, max(0, site.other_instances().sequence - site.bus.sequence)
    if behind:
        site.bus.miss()
    return InstanceFigures(
        loop_lag_seconds=watch.take_recent() if watch else 0.0,
        commits_behind=behind,
        changes_waiting=site.fleet.primary.commit_stats().waiting,
        requests=site.traffic.inside,
        streams=len(site.streams),
        connections=site.connections(),
        reads_form=FORM,
    )


TAKEN_OVER_SECONDS = 2.0
ASK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Handover:
    """How this process gives being primary to another."""

    site: Site
    lease: Lease

    def hear(self, text: str) -> None:
        """What somebody tells of the lease; only `rookery step-down` asks for anything."""
        asked = read_step_down(text)
        if asked is None:
            return
        primary = self.site.fleet.primary
        if asked.to and asked.to != self.lease.instance:
            primary.hold_back()
        if asked.holder == self.lease.instance:
            primary.spawn(self._give())

    def give_up(self, reason: str) -> None:
        """The lease has run out. Where others live, one of them is primary by now, and calls that
        wait here are for that one; who is alone waits for its database."""
        if self.site.other_instances().others:
            self.site.fleet.primary.lost(reason)

    async def before_stop(self) -> None:
        """Where another process lives, it is primary before this one stops answering."""
        if not self.site.is_primary():
            return
        try:
            async with asyncio.timeout(ASK_SECONDS):
                before, has_others = await self.lease.read(), await self._has_others()
            if has_others and await self._give():
                async with asyncio.timeout(TAKEN_OVER_SECONDS):
                    await self.lease.wait_for_next(before.epoch)
        except AWAY as error:
            self.site.log.warning("not_taken_over", why=repr(error))

    async def _has_others(self) -> bool:
        """Asked now, because one may have come since this process told last that it lives."""
        found = await self.site.instances.list_all()
        return any(each.is_alive and each.name != self.lease.instance for each in found)

    async def _give(self) -> bool:
        given = await self.site.fleet.primary.step_down(self.lease.release)
        if given:
            self.site.log.info("stepped_down")
        return given
