"""`rookery engine import`: a team's engines of OpenBench, with their presets."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rookery.cli.calling import add_server, client_of
from rookery.cli.engine_add import BadFile
from rookery.errors import Complaint
from rookery.model import engine as engines
from rookery.protocol.codec import WireFault, encode
from rookery.protocol.openbench import OPENBENCH_ENGINE, Imported, imported

BUILT_IN = frozenset(record.name for record in engines.BUILT_IN)


class WouldReplace(Complaint):
    """An import would replace a record that nobody named."""

    exit_code = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="Engines/*.json")
    parser.add_argument("--team", default="", metavar="TEAM", help="whose engines they are")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the records to a folder")
    parser.add_argument("--put", action="store_true", help="make them known to the server")
    parser.add_argument(
        "--replace",
        action="append",
        default=[],
        metavar="NAME",
        help="an engine whose record may be replaced, may be repeated",
    )
    add_server(parser)


def run(parsed: argparse.Namespace) -> int:
    found = [_read(file, parsed.team) for file in _files(parsed.files)]
    client = client_of(parsed) if parsed.put else None
    if client:
        known = {record.name for record in client.engines().engines}
        _check_replaced([each.record.name for each in found], known, parsed.replace)
    for each in found:
        if client:
            client.put_engine(each.record, replace=each.record.name in parsed.replace)
        if parsed.write:
            _write(each, parsed.write)
    _report(found, parsed)
    return 0


def _check_replaced(names: list[str], known: set[str], wanted: list[str]) -> None:
    """Before anything is written; raises WouldReplace."""
    built_in = [name for name in names if name in BUILT_IN]
    if built_in:
        raise WouldReplace(f"{_and(built_in)}: built in, which no import replaces. Leave it out.")
    taken = [name for name in names if name in known and name not in wanted]
    if taken:
        raise WouldReplace(
            f"{_and(taken)}: known to the server already. Nothing was written; name with --replace"
            " what is to be replaced, or leave it out."
        )


def _and(names: list[str]) -> str:
    return ", ".join(names)


def _files(given: list[Path]) -> Iterator[Path]:
    for path in given:
        yield from sorted(path.glob("*.json")) if path.is_dir() else (path,)


def _read(file: Path, team: str) -> Imported:
    try:
        return imported(file.stem, OPENBENCH_ENGINE.read(file.read_bytes()), team)
    except OSError:
        raise BadFile(f"{file} can't be read.") from None
    except WireFault as fault:
        raise BadFile(f"{file} is no engine of OpenBench: {fault}") from None


def _write(each: Imported, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{each.record.name}.json"
        file.write_bytes(msgspec.json.format(encode(each.record)) + b"\n")
    except OSError:
        raise BadFile(f"{folder} can't be written to.") from None


def _report(found: list[Imported], parsed: argparse.Namespace) -> None:
    if parsed.json or not (parsed.put or parsed.write):
        records = [each.record for each in found]
        print(msgspec.json.format(encode(records)).decode())
    for each in found:
        name, presets = each.record.name, len(each.record.presets)
        print(f"{name}: a recipe and {presets} presets.", file=sys.stderr)
        for remark in each.not_mapped:
            print(f"{name}: not mapped: {remark}.", file=sys.stderr)
