"""`rookery engine`: the engine records of a server, and those made of OpenBench's files."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import BadArgument, Column, command_group, if_known, option
from rookery.core.model import engine as engines
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol import v1
from rookery.core.protocol.codec import WireFault, encode
from rookery.core.protocol.openbench import OPENBENCH_ENGINE, ImportedEngine, import_engine
from rookery.core.protocol.v1 import ENGINE_RECORD

engine = command_group(
    "engine",
    "Add, import, list, show or write the engine records of a server.",
    """\
  rookery engine add https://github.com/AndyGrant/Ethereal --put
  rookery engine show Ethereal > ethereal.json
  rookery engine put ethereal.json""",
)
engine.command(
    "rookery.worker.commands.engine_add:add",
    help="Build and try an engine, and propose its record.",
)
EngineName = Annotated[str, option("the engine's name", name="NAME")]
BUILT_IN = frozenset(record.name for record in engines.BUILT_IN)


@engine.command(name="list")
def list_engines(*, server: ServerFlags = THE_SERVER) -> None:
    """List the engines that a server knows."""
    found = server.client.engines()
    columns: list[Column] = [
        ("name", "{.name}"),
        ("recipe", "{.recipe.kind}"),
        ("reference nps", lambda record: if_known("reference", "{:,.0f}")(record.speed)),
        ("team", lambda each: f"{each.team} (private)" if each.private else each.team),
        ("source", "{.source}"),
    ]
    server.print_table(found, found.engines, columns)


@engine.command
def show(name: EngineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Print an engine's record, as `put` takes it."""
    body = encode(server.client.engine(name))
    print((body if server.json else msgspec.json.format(body)).decode())


@engine.command
def put(
    file: Annotated[Path, option("a record in JSON")],
    /,
    *,
    replace: Annotated[
        str, option("replace the record of this engine, even a built-in one", "NAME")
    ] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Add an engine, or replace its record."""
    given = record_in(file)
    record = server.client.put_engine(given, replace=True if replace == given.name else None)
    server.tell(record, f"The server has the record of {record.name}.")


@engine.command
def remove(name: EngineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Remove an engine: it gets no new runs."""
    record = server.client.remove_engine(name)
    server.tell(record, f"Removed {record.name}.")


@engine.command
def history(name: EngineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """List all versions of an engine's record."""
    found = server.client.engine_versions(name)
    columns: list[Column] = [
        ("version", "{.version}"),
        ("when", "{.changed:%Y-%m-%d %H:%M}"),
        ("by", "{.changed_by}"),
        ("what", _what),
    ]
    server.print_table(found, found.versions, columns)


@engine.command
def restore(
    name: EngineName,
    version: Annotated[int, option("number of the version; 0: as before the first one")],
    /,
    *,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Restore an earlier version of an engine's record."""
    found = server.client.restore_engine(name, version)
    gone = "is as it was" if found.engines else "is removed, as it was"
    server.tell(found, f"{name} {gone}.")


@engine.command
def undo(name: EngineName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Undo the last change of an engine's record."""
    versions = server.client.engine_versions(name).versions
    restore(name, versions[-2].version if len(versions) > 1 else 0, server=server)


@engine.command(name="import")
def import_engines(
    files: Annotated[list[Path], option("Engines/*.json")],
    /,
    *,
    team: Annotated[str, option("team that the engines belong to", "TEAM")] = "",
    write: Annotated[Path | None, option("write the records to a folder", "DIR")] = None,
    put: Annotated[bool, option("add them to the server")] = False,
    replace: Annotated[
        list[str] | None,
        option("engine whose record may be replaced; may be repeated", "NAME"),
    ] = None,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Import OpenBench's engine files, with their presets."""
    wanted = replace or []
    found = [_read_openbench(file, team) for file in _files(files)]
    client = server.client if put else None
    if client:
        known = {record.name for record in client.engines().engines}
        _check_replaced([each.record.name for each in found], known, wanted)
    for each in found:
        if client:
            client.put_engine(each.record, replace=each.record.name in wanted)
        if write:
            _write(each, write)
    _report(found, as_json=server.json or not (put or write))


def record_in(file: Path) -> EngineRecord:
    """Read an engine record from a file. Raises BadArgument."""
    try:
        return ENGINE_RECORD.read(file.read_bytes())
    except OSError:
        raise BadArgument(f"{file} can't be read.") from None
    except WireFault as fault:
        raise BadArgument(f"{file}: {fault}") from None


def _what(version: v1.EngineVersion) -> str:
    record = version.record
    return "removed" if version.removed else f"{record.recipe.kind} {record.source}".strip()


def _check_replaced(names: list[str], known: set[str], wanted: list[str]) -> None:
    """Check before writing that no record would be replaced unasked. Raises BadArgument."""
    built_in = [name for name in names if name in BUILT_IN]
    if built_in:
        raise BadArgument(
            f"{', '.join(built_in)}: built in, which no import replaces. Leave it out."
        )
    taken = [name for name in names if name in known and name not in wanted]
    if taken:
        raise BadArgument(
            f"{', '.join(taken)}: known to the server already. Nothing was written; name with"
            " --replace what is to be replaced, or leave it out."
        )


def _files(given: list[Path]) -> Iterator[Path]:
    for path in given:
        yield from sorted(path.glob("*.json")) if path.is_dir() else (path,)


def _read_openbench(file: Path, team: str) -> ImportedEngine:
    try:
        return import_engine(file.stem, OPENBENCH_ENGINE.read(file.read_bytes()), team)
    except OSError:
        raise BadArgument(f"{file} can't be read.") from None
    except WireFault as fault:
        raise BadArgument(f"{file} is not an engine file of OpenBench: {fault}") from None


def _write(each: ImportedEngine, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{each.record.name}.json"
        file.write_bytes(msgspec.json.format(encode(each.record)) + b"\n")
    except OSError:
        raise BadArgument(f"{folder} can't be written to.") from None


def _report(found: list[ImportedEngine], *, as_json: bool) -> None:
    if as_json:
        records = [each.record for each in found]
        print(msgspec.json.format(encode(records)).decode())
    for each in found:
        name, presets = each.record.name, len(each.record.presets)
        print(f"{name}: a recipe and {presets} presets.", file=sys.stderr)
        for remark in each.not_mapped:
            print(f"{name}: not mapped: {remark}.", file=sys.stderr)
