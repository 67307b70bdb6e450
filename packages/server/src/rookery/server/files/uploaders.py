"""Nets, books and programs that people upload: stored and removed for forms and the API alike."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.events import Action, about_net
from rookery.core.model.run import NotYours
from rookery.core.protocol import v1
from rookery.server.engines.engines import TEAM_MARK, Engines
from rookery.server.farm.views import FleetViews
from rookery.server.files.access import FileAccess, RepeatedUpload, StoredUsage
from rookery.server.files.books import BookStore, StoredBook
from rookery.server.files.engine_files import NetStore, ProgramStore, StoredNet
from rookery.server.files.store import NOT_YOUR_FILE, UnknownFile
from rookery.server.http.bodies import UploadPlaces
from rookery.server.http.faults import BadRequest, Forbidden
from rookery.server.http.signatures import Parts
from rookery.server.identity.accounts import Accounts
from rookery.server.teams.teams import Teams


@dataclass(frozen=True, slots=True)
class Uploader:
    """A user, and the engine that a file is uploaded for; empty if none was named."""

    user: str
    engine: str


@dataclass(frozen=True, slots=True)
class GivenFiles(Parts):
    """Where uploaded files are kept, and what decides who may upload, see and remove them."""

    nets: NetStore
    books: BookStore
    programs: ProgramStore
    access: FileAccess
    places: UploadPlaces
    engines: Engines
    teams: Teams
    views: FleetViews
    accounts: Accounts
    clock: Clock

    async def load_usage(self, viewer: Actor | None) -> StoredUsage | None:
        """Return what the viewer has stored; None for a visitor."""
        if viewer is None:
            return None
        return await self.access.rows.load_usage(viewer.name, self.nets.limit)

    def find_uploader(self, user: str, engine: str) -> Uploader:
        """Return the uploader of a file for an engine. Raise UnknownEngine for one that the user
        may not see."""
        self.access.check_engine(user, engine)
        return Uploader(user, engine)

    async def keep_book(self, by: Uploader, name: str, pieces: AsyncIterator[bytes]) -> StoredBook:
        """Store a book. Raises Forbidden, BadRequest, FileRefused or QuotaExceeded."""
        self._check_name(by, name)
        async with self.places.place(by.user):
            kept = await self.books.upload(pieces, name, by.user, by.engine)
        if kept.user == by.user:
            await self.access.add(kept.name, by.engine)
        return kept

    async def keep_net(
        self, by: Uploader, file_name: str, pieces: AsyncIterator[bytes]
    ) -> v1.NetEntry:
        """Store a net. Raises FileRefused or QuotaExceeded."""
        async with self.places.place(by.user):
            net, is_new = await self.nets.upload(pieces, file_name, by.user, by.engine)
        if not is_new:
            return describe_net(net, await self._note_repeat(by, net.name, net.size))
        await self.access.add(net.name, by.engine)
        await self._note_net(net, by.user, by.engine, Action.UPLOAD_NN)
        return describe_net(net)

    async def keep_program(
        self, by: Uploader, name: str, pieces: AsyncIterator[bytes]
    ) -> v1.UploadedFile:
        """Store a program. Raises FileRefused or QuotaExceeded."""
        async with self.places.place(by.user):
            kept = await self.programs.upload(pieces, name, by.user, by.engine)
        if kept.user == by.user:
            await self.access.add(kept.sha256, by.engine)
        await self._note_repeat(by, kept.sha256, kept.size)
        return v1.UploadedFile(sha256=kept.sha256, size=kept.size)

    async def remove_book(self, name: str, actor: Actor) -> StoredBook:
        """Remove a book. Raises UnknownFile, NotYours or RunFault."""
        self._check_seen("book", name, actor)
        removed = await self.books.remove(name, actor, await self.views.active())
        await self.access.remove(name)
        return removed

    async def remove_net(self, name: str, actor: Actor) -> v1.NetEntry:
        """Remove a net. Raises UnknownFile, NotYours or RunFault."""
        self._check_seen("net", name, actor)
        if (again := self.access.visible_repeat(actor.name, name)) is not None:
            return await self._remove_repeat(name, again, actor)
        removed = await self.nets.remove(name, actor, await self.views.active())
        engine = self.access.engine_of(name)
        await self.access.remove(name)
        await self._note_net(removed, actor.name, engine, Action.REMOVE_NN)
        return describe_net(removed)

    async def _remove_repeat(self, name: str, again: RepeatedUpload, actor: Actor) -> v1.NetEntry:
        """Remove a repeated upload. The file stays for the users who uploaded it first. Raises
        UnknownFile or NotYours."""
        net = await self.nets.rows.get(name)
        if net is None:
            raise UnknownFile(kind="net", name=name)
        if not (actor.approver or actor.name == again.user):
            raise NotYours(NOT_YOUR_FILE, kind="net")
        await self.access.remove_repeat(again)
        return describe_net(net, again)

    async def _note_repeat(self, by: Uploader, file: str, size: int) -> RepeatedUpload | None:
        """Store another upload of a known file for an uploader who can't see the first one; raises
        QuotaExceeded as for a new file. Returns the uploader's own upload, or None if they see the
        first one."""
        if not self.access.may_see(by.user, file):
            repeat = RepeatedUpload(file, by.engine, by.user, self.clock.now(), size)
            await self.access.add_repeat(repeat, limit=self.nets.limit)
        return self.access.visible_repeat(by.user, file)

    async def _note_net(self, net: StoredNet, user: str, engine: str, action: Action) -> None:
        """Write a line into the log of actions. For a net of a private engine only its team sees
        it."""
        await self.accounts.audit.write(about_net(net.name, user, self.clock.now(), engine, action))

    def _check_seen(self, kind: str, name: str, actor: Actor) -> None:
        if not self.access.may_see(actor.name, name):
            raise UnknownFile(kind=kind, name=name)

    def _check_name(self, by: Uploader, name: str) -> None:
        """Check a file's name. Names that begin with a team and `~` are reserved for that team, and
        files of a private engine need such a name. Raises Forbidden or BadRequest, whether or not
        the name exists."""
        team, mark, _ = name.partition(TEAM_MARK)
        if mark and team not in self.teams.of(by.user):
            raise Forbidden("Only members of a team may upload files that are named after it.")
        owner = self.engines.private.get(by.engine)
        if owner is not None and not (mark and team == owner):
            wanted = f"{owner}{TEAM_MARK}{name}"
            raise BadRequest(f"Files of a private engine are named after its team: {wanted}.")


def describe_net(net: StoredNet, again: RepeatedUpload | None = None) -> v1.NetEntry:
    """Return the entry of a net; people who uploaded it again are not told of the first upload."""
    return v1.NetEntry(
        name=net.name,
        size=net.size,
        user=again.user if again else net.user,
        created=again.at if again else net.created,
        downloads=0 if again else net.downloads,
    )
