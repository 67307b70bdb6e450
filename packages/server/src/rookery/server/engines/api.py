"""Engine records: list, read, write and remove. They are small and in memory; only writing one
awaits the database."""

from rookery.core.model.engine import EngineRecord
from rookery.core.protocol import v1
from rookery.core.protocol.codec import BadField
from rookery.core.protocol.v1 import LARGEST_RECORD
from rookery.server.engines.engines import Engines, UnknownEngine, no_versions
from rookery.server.engines.privacy import Privacy
from rookery.server.http.endpoint import LOOP, Answer, Endpoints
from rookery.server.identity.bearers import Caller, name_of_caller
from rookery.server.identity.users import Scope

WRITERS = (Scope.SUBMIT, Scope.APPROVE)

api = Endpoints("/api/v1")


@api("GET /engines", LOOP, "records are in memory")
async def list_engines(privacy: Privacy, caller: Caller | None) -> v1.EngineList:
    """All engines."""
    return v1.EngineList(engines=await privacy.list_engines(name_of_caller(caller)))


@api("GET /engines/{name}", LOOP, "records are in memory")
async def get_engine(privacy: Privacy, caller: Caller | None, name: v1.Name) -> EngineRecord:
    """An engine's record."""
    return await privacy.find_engine(name_of_caller(caller), name)


@api(
    "PUT /engines/{name}",
    LOOP,
    "awaits one write; a large record is read in a thread",
    scope=WRITERS,
    status=(200, 201),
    most_bytes=LARGEST_RECORD,
)
async def put_engine(
    engines: Engines,
    caller: Caller,
    name: v1.Name,
    record: EngineRecord,
    replace: bool | None = None,
) -> Answer[EngineRecord]:
    """Add an engine, or replace its record."""
    if record.name != name:
        raise BadField(field="name", text="expected the name that the address has")
    is_new = await engines.put(record, caller.actor, replacing=replace)
    return Answer(record, 201 if is_new else 200)


@api("DELETE /engines/{name}", LOOP, "awaits one write", scope=WRITERS)
async def remove_engine(engines: Engines, caller: Caller, name: v1.Name) -> EngineRecord:
    """Remove an engine."""
    return await engines.remove(name, caller.actor)


@api("GET /engines/{name}/versions", LOOP, "awaits one query")
async def list_versions(
    engines: Engines, privacy: Privacy, caller: Caller | None, name: v1.Name
) -> v1.EngineVersions:
    """All versions of an engine's record."""
    viewer = name_of_caller(caller)
    seen = privacy.may_see_engine(viewer, name)
    found = await engines.versions(name, viewer) if seen else ()
    if not found:
        raise no_versions(name)
    return v1.EngineVersions(versions=found)


@api("POST /engines/{name}/restore", LOOP, "awaits one write", scope=WRITERS)
async def restore_engine(
    engines: Engines, privacy: Privacy, caller: Caller, name: v1.Name, wish: v1.RestoreBody
) -> v1.EngineList:
    """Restore an earlier version of an engine's record."""
    if not privacy.may_see_engine(caller.user.name, name):
        raise UnknownEngine(name=name)
    record = await engines.restore(name, wish.version, caller.actor)
    return v1.EngineList(engines=() if record is None else (record,))
