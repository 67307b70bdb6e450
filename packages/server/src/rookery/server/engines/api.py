"""Engine records: list, read, write and remove."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.engine import EngineRecord
from rookery.core.protocol import v1
from rookery.core.protocol.codec import BadField, Reader
from rookery.core.protocol.v1 import ENGINE_RECORD
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.engines import UnknownEngine, no_versions
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import decode_body, json_answer, read_body
from rookery.server.http.callers import require_bearer, translated_errors, viewer_name
from rookery.server.http.openapi import Operation, described
from rookery.server.http.queries import read_switch
from rookery.server.people.users import Scope

BY_NAME = {"name": v1.Name}
RESTORE = Reader(v1.RestoreBody)
WRITERS = (Scope.SUBMIT, Scope.APPROVE)


# Records are small and in memory; only writing one awaits the database.


@described(Operation("All engines", {200: v1.EngineList}))
@runs(Domain.LOOP, "records are in memory")
async def list_engines(request: Request) -> Response:
    site = site_of(request)
    hidden = site.privacy.hidden(await viewer_name(request, site.bearers))
    found = await site.engines.list()
    seen = tuple(record for record in found if record.name not in hidden)
    return json_answer(v1.EngineList(engines=seen))


@described(Operation("An engine's record", {200: EngineRecord}, path=BY_NAME))
@runs(Domain.LOOP, "records are in memory")
async def get_engine(request: Request) -> Response:
    site = site_of(request)
    viewer, name = await viewer_name(request, site.bearers), _name(request)
    with translated_errors():
        if not site.privacy.may_see_engine(viewer, name):
            raise UnknownEngine(name=name)
        return json_answer(await site.engines.by_name(name))


@described(
    Operation(
        "Add an engine, or replace its record",
        {200: EngineRecord, 201: EngineRecord},
        path=BY_NAME,
        query={"replace": bool},
        body=EngineRecord,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write; a large record is read in a thread")
async def put_engine(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request)
    body = await read_body(request.receive)
    with translated_errors():
        record = await decode_body(body, ENGINE_RECORD.read, site.threads)
        if record.name != _name(request):
            raise BadField(field="name", text="expected the name that the address has")
        given = "replace" in request.query_params
        replacing = read_switch(request.query_params, "replace") if given else None
        new = await site.engines.put(record, actor, replacing=replacing)
    return json_answer(record, 201 if new else 200)


@described(Operation("Remove an engine", {200: EngineRecord}, path=BY_NAME, bearer=True))
@runs(Domain.LOOP, "awaits one write")
async def remove_engine(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request)
    with translated_errors():
        return json_answer(await site.engines.remove(_name(request), actor))


@described(Operation("All versions of an engine's record", {200: v1.EngineVersions}, path=BY_NAME))
@runs(Domain.LOOP, "awaits one query")
async def list_versions(request: Request) -> Response:
    site = site_of(request)
    viewer, name = await viewer_name(request, site.bearers), _name(request)
    with translated_errors():
        seen = site.privacy.may_see_engine(viewer, name)
        found = await site.engines.versions(name, viewer) if seen else ()
        if not found:
            raise no_versions(name)
    return json_answer(v1.EngineVersions(versions=found))


@described(
    Operation(
        "Restore an earlier version of an engine's record",
        {200: v1.EngineList},
        path=BY_NAME,
        body=v1.RestoreBody,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def restore_engine(request: Request) -> Response:
    site = site_of(request)
    actor, name = await _require_actor(request), _name(request)
    body = await read_body(request.receive)
    with translated_errors():
        wish = RESTORE.read(body)
        if not site.privacy.may_see_engine(actor.name, name):
            raise UnknownEngine(name=name)
        record = await site.engines.restore(name, wish.version, actor)
    return json_answer(v1.EngineList(engines=() if record is None else (record,)))


async def _require_actor(request: Request) -> Actor:
    site = site_of(request)
    return (await require_bearer(request, site.bearers, *WRITERS)).actor


def _name(request: Request) -> str:
    return str(request.path_params["name"])
