"""This process as one of several servers on a database: announces itself to the others, and hands
the primary role over to one of them.

    primary --asked, or about to stop--> nothing new accepted --all committed--> lease released
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from rookery.core.build_id import describe_version
from rookery.server.app.site import Site
from rookery.server.db.lease import Lease
from rookery.server.db.listening import Channel
from rookery.server.db.pool import AWAY, make_event_log
from rookery.server.http.internal_calls import FORM
from rookery.server.servers.instances import (
    Instance,
    InstanceFigures,
    OtherInstances,
    Presence,
    read_step_down,
)


@asynccontextmanager
async def keep_listed(site: Site, lease: Lease, schema: int) -> AsyncIterator[Presence]:
    """List this process among the servers of its database for the length of the block."""
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
            figures=replace(take_figures(site), clock_off_seconds=presence.clock_off_seconds),
        )

    def learn(others: OtherInstances) -> None:
        site.internal_key.note_form(FORM if others.reads_form is None else others.reads_form)

    presence = Presence(site.instances, describe, make_event_log(site.log), learn, site.clock)
    site.other_instances = lambda: presence.other_instances
    handover = Handover(site, lease)
    site.hand_over = handover.before_stop
    lease.on_expiry(handover.give_up)
    site.changes.subscribe(Channel.LEASE, handover.hear, lambda: None)
    async with presence.kept():
        yield presence


def take_figures(site: Site) -> InstanceFigures:
    """The current figures of this process. If other servers have seen later commits than its event
    bus, the bus has missed a notice and is told to catch up."""
    watch, behind = site.watch, max(0, site.other_instances().sequence - site.bus.sequence)
    if behind:
        site.bus.miss()
    return InstanceFigures(
        loop_lag_seconds=watch.take_longest_since_last_call() if watch else 0.0,
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
    """Hands the primary role over to another process."""

    site: Site
    lease: Lease

    def hear(self, text: str) -> None:
        """Handle a notice about the lease. Only `rookery step-down` sends one that asks for
        something."""
        asked = read_step_down(text)
        if asked is None:
            return
        primary = self.site.fleet.primary
        if asked.to == self.lease.instance:
            primary.come_forward()
        elif asked.to:
            primary.hold_back()
        if asked.holder == self.lease.instance:
            primary.spawn(self._give())

    def give_up(self, reason: str) -> None:
        """Handle the expiry of the lease. If there are other servers, one of them is primary by
        now, and calls that wait here are sent to it. A process that is alone waits for its
        database."""
        if self.site.other_instances().others:
            self.site.fleet.primary.lost(reason)

    async def before_stop(self) -> None:
        """Before this process stops answering, let another one become primary if there is one."""
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
        """Whether other servers are alive now. Reads the rows, because one may have started since
        this process last wrote its own row."""
        found = await self.site.instances.list_all()
        return any(each.is_alive and each.name != self.lease.instance for each in found)

    async def _give(self) -> bool:
        given = await self.site.fleet.primary.step_down(self.lease.release)
        if given:
            self.site.log.info("stepped_down")
        return given
