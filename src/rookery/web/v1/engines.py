"""Engine records: listed, looked at, written and removed."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.engine_rows import KeptEngine
from rookery.farm.engines import UnknownEngine
from rookery.model.engine import EngineRecord
from rookery.people.users import Scope
from rookery.protocol import v1
from rookery.protocol.codec import BadField, Reader
from rookery.protocol.v1 import ENGINE_RECORD
from rookery.rules.lifecycle import Actor
from rookery.web.bodies import decoded, json_answer, read_body
from rookery.web.openapi import Operation, described
from rookery.web.refusals import refusals
from rookery.web.site import Site
from rookery.web.v1.callers import bearer_of, switch_in, viewer_of

BY_NAME = {"name": v1.Name}
RESTORE = Reader(v1.RestoreBody)
WRITERS = (Scope.SUBMIT, Scope.APPROVE)


class EngineEndpoints:
    """Records are small and in memory; only writing one awaits the database."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @described(Operation("All engines known here", {200: v1.EngineList}))
    @runs(Domain.LOOP, "records are in memory")
    async def listing(self, request: Request) -> Response:
        hidden = self._site.privacy.hidden(await viewer_of(request, self._site.bearers))
        found = await self._site.engines.list()
        seen = tuple(record for record in found if record.name not in hidden)
        return json_answer(v1.EngineList(engines=seen))

    @described(Operation("An engine's record", {200: EngineRecord}, path=BY_NAME))
    @runs(Domain.LOOP, "records are in memory")
    async def one(self, request: Request) -> Response:
        viewer, name = await viewer_of(request, self._site.bearers), _name(request)
        with refusals():
            if not self._site.privacy.sees_engine(viewer, name):
                raise UnknownEngine(name=name)
            return json_answer(await self._site.engines.by_name(name))

    @described(
        Operation(
            "Make an engine known, or replace what is known of it",
            {200: EngineRecord, 201: EngineRecord},
            path=BY_NAME,
            query={"replace": bool},
            body=EngineRecord,
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one write; a large record is read in a thread")
    async def put(self, request: Request) -> Response:
        site, actor = self._site, await self._actor(request)
        body = await read_body(request.receive)
        with refusals():
            record = await decoded(body, ENGINE_RECORD.read, site.threads)
            if record.name != _name(request):
                raise BadField(field="name", text="expected the name that the address has")
            given = "replace" in request.query_params
            replacing = switch_in(request.query_params, "replace") if given else None
            new = await site.engines.put(record, actor, replacing=replacing)
        return json_answer(record, 201 if new else 200)

    @described(Operation("Remove an engine", {200: EngineRecord}, path=BY_NAME, bearer=True))
    @runs(Domain.LOOP, "awaits one write")
    async def remove(self, request: Request) -> Response:
        actor = await self._actor(request)
        with refusals():
            return json_answer(await self._site.engines.remove(_name(request), actor))

    @described(
        Operation("What was ever written of an engine", {200: v1.EngineVersions}, path=BY_NAME)
    )
    @runs(Domain.LOOP, "awaits one query")
    async def versions(self, request: Request) -> Response:
        viewer, name = await viewer_of(request, self._site.bearers), _name(request)
        with refusals():
            seen = self._site.privacy.sees_engine(viewer, name)
            found = await self._site.engines.versions(name, viewer) if seen else ()
            if not found:
                raise UnknownEngine(name=name)
        return json_answer(v1.EngineVersions(versions=tuple(map(_version, found))))

    @described(
        Operation(
            "Make an engine what it was",
            {200: v1.EngineList},
            path=BY_NAME,
            body=v1.RestoreBody,
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one write")
    async def restore(self, request: Request) -> Response:
        actor, name = await self._actor(request), _name(request)
        body = await read_body(request.receive)
        with refusals():
            wish = RESTORE.read(body)
            if not self._site.privacy.sees_engine(actor.name, name):
                raise UnknownEngine(name=name)
            record = await self._site.engines.restore(name, wish.version, actor)
        return json_answer(v1.EngineList(engines=() if record is None else (record,)))

    async def _actor(self, request: Request) -> Actor:
        return (await bearer_of(request, self._site.bearers, *WRITERS)).actor


def _version(kept: KeptEngine) -> v1.EngineVersion:
    return v1.EngineVersion(
        version=kept.version,
        changed=kept.changed,
        changed_by=kept.changed_by,
        removed=kept.removed,
        record=kept.record,
    )


def _name(request: Request) -> str:
    return str(request.path_params["name"])
