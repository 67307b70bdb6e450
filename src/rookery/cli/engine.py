"""`rookery engine`: the engine records of a server."""

import argparse
from pathlib import Path

import msgspec

from rookery.cli import engine_add, engine_import
from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import Work, add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.errors import Complaint
from rookery.model.engine import EngineRecord
from rookery.protocol import v1
from rookery.protocol.codec import WireFault, encode
from rookery.protocol.v1 import ENGINE_RECORD


class BadRecord(Complaint):
    """A file holds no engine record."""

    exit_code = 2


EXAMPLES = """\
examples:

  rookery engine add https://github.com/AndyGrant/Ethereal --put
  rookery engine show Ethereal > ethereal.json
  rookery engine put ethereal.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    add_server_command(commands, "list", "list the engines that a server knows", _list)
    showing = add_server_command(
        commands, "show", "print an engine's record, as `put` takes it", _show
    )
    showing.add_argument("name", metavar="NAME")
    putting = add_server_command(
        commands, "put", "make an engine known, or replace its record", _put
    )
    putting.add_argument("file", type=Path, metavar="FILE", help="a record in JSON")
    putting.add_argument(
        "--replace", default="", metavar="NAME", help="replace this record, even a built-in one"
    )
    _add_versions(commands)
    engine_add.add_arguments(
        commands.add("add", "build and try an engine, and propose its record", engine_add.run)
    )
    engine_import.add_arguments(
        commands.add("import", "read engines of OpenBench with their presets", engine_import.run)
    )
    removing = add_server_command(commands, "remove", "let no new run have this engine", _remove)
    removing.add_argument("name", metavar="NAME")


def _add_versions(commands: Subcommands) -> None:
    """What was written can be looked at and undone."""
    works: tuple[tuple[str, str, Work], ...] = (
        ("history", "list what was ever written of an engine", _history),
        ("restore", "make an engine what it was; 0: before anything was written", _restore),
        ("undo", "take back what was written of an engine last", _undo),
    )
    made = {name: add_server_command(commands, name, text, work) for name, text, work in works}
    for each in made.values():
        each.add_argument("name", metavar="NAME")
    made["restore"].add_argument("version", type=int, metavar="VERSION")


def _history(client: Client, parsed: argparse.Namespace) -> None:
    found = client.engine_versions(parsed.name)
    if parsed.json:
        print_json(found)
        return
    rows = [
        (str(each.version), f"{each.changed:%Y-%m-%d %H:%M}", each.changed_by, _what(each))
        for each in found.versions
    ]
    print(table(("version", "when", "by", "what"), rows))


def _restore(client: Client, parsed: argparse.Namespace) -> None:
    found = client.restore_engine(parsed.name, parsed.version)
    gone = "is as it was" if found.engines else "is removed, as it was"
    tell(found, parsed, f"{parsed.name} {gone}.")


def _undo(client: Client, parsed: argparse.Namespace) -> None:
    versions = client.engine_versions(parsed.name).versions
    parsed.version = versions[-2].version if len(versions) > 1 else 0
    _restore(client, parsed)


def _what(version: v1.EngineVersion) -> str:
    record = version.record
    return "removed" if version.removed else f"{record.recipe.kind} {record.source}".strip()


def _list(client: Client, parsed: argparse.Namespace) -> None:
    found = client.engines()
    if parsed.json:
        print_json(found)
        return
    heads = ("name", "recipe", "reference nps", "team", "source")
    print(table(heads, [_row(record) for record in found.engines]))


def _show(client: Client, parsed: argparse.Namespace) -> None:
    body = encode(client.engine(parsed.name))
    print((body if parsed.json else msgspec.json.format(body)).decode())


def _put(client: Client, parsed: argparse.Namespace) -> None:
    given = record_in(parsed.file)
    record = client.put_engine(given, replace=True if parsed.replace == given.name else None)
    tell(record, parsed, f"{record.name} is known.")


def _remove(client: Client, parsed: argparse.Namespace) -> None:
    record = client.remove_engine(parsed.name)
    tell(record, parsed, f"{record.name} is removed.")


def record_in(file: Path) -> EngineRecord:
    """Raises BadRecord."""
    try:
        return ENGINE_RECORD.read(file.read_bytes())
    except OSError:
        raise BadRecord(f"{file} can't be read.") from None
    except WireFault as fault:
        raise BadRecord(f"{file}: {fault}") from None


def _row(record: EngineRecord) -> tuple[str, ...]:
    team = f"{record.team} (private)" if record.private else record.team
    speed = record.speed.reference
    known = "" if speed is None else f"{speed:,.0f}"
    return record.name, record.recipe.kind, known, team, record.source
