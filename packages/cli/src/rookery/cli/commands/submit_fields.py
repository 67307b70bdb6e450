"""Makes the fields of a run from a command line: an engine's preset, a file, flags. Later ones
win."""

import asyncio
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, get_type_hints

import msgspec
from cyclopts import Parameter

from rookery.core.books import DEMO
from rookery.core.boundary.offload import Threads
from rookery.core.client.client import Client
from rookery.core.command import BadArgument, Bounds, option
from rookery.core.model.engine import EngineRecord, is_program
from rookery.core.model.kinds import CHOSEN, ONE_PROGRAM
from rookery.core.model.presets import (
    PLAIN_PRESET,
    QUICK,
    QUICK_PRESET,
    find_preset,
    list_presets,
    merge_fields,
    read_preset,
    read_value,
)

# Programs on this machine as sides of a run: they are uploaded, then named by their hashes.

SIDES = (("new_tag", "new_binary"), ("base_tag", "base_binary"))
ENGINES = {"new_tag": "new_engine", "base_tag": "base_engine"}
ORDINARY: Mapping[str, object] = {"tc": "10+0.1", "book": DEMO}
"""The defaults for two programs."""
ORDINARY_SPRT = {"elo0": 0.0, "elo1": 5.0}
PLAYING_KINDS = CHOSEN | {"num_games"}
UCIOK_SECONDS = 20.0


def find_programs(fields: Mapping[str, object]) -> dict[str, Path]:
    """Return the sides that name a file, by the field of their tag. Raise BadArgument."""
    named = {tag: fields.get(tag) for tag, _ in SIDES}
    return {
        tag: _program(text)
        for tag, text in named.items()
        if isinstance(text, str) and is_path(text)
    }


def is_path(text: str) -> bool:
    """Whether a text is a path. A branch may contain a slash too."""
    begins = text.startswith(("./", "../", "/", "~"))
    return begins or ("/" in text and Path(text).is_file())


def with_defaults(fields: dict[str, object]) -> dict[str, object]:
    kind = {} if PLAYING_KINDS & fields.keys() else {"sprt": ORDINARY_SPRT}
    return {**ORDINARY, **kind, **fields}


def upload_programs(
    fields: dict[str, object], programs: Mapping[str, Path], client: Client
) -> dict[str, object]:
    """Upload programs that the server does not have. Returns the fields of the run."""
    engines = {path: str(fields.get(ENGINES[tag]) or "") for tag, path in programs.items()}
    for path, engine in engines.items():
        if not client.has_program(digest_of(path)):
            client.upload(path, engine)
    return with_hashes(fields, programs)


def with_hashes(fields: dict[str, object], programs: Mapping[str, Path]) -> dict[str, object]:
    """Return the fields, with programs named by their hashes."""
    hashes = {path: digest_of(path) for path in set(programs.values())}
    tags = {tag: path.name for tag, path in programs.items()}
    binaries = {binary: hashes[programs[tag]] for tag, binary in SIDES if tag in programs}
    return fields | _apart(tags, binaries) | binaries


def _apart(tags: dict[str, str], binaries: dict[str, str]) -> dict[str, str]:
    """Tags that distinguish programs of equal names by their hashes."""
    if len(set(tags.values())) == len(tags):
        return tags
    by_tag = dict(SIDES)
    return {tag: f"{name}-{binaries[by_tag[tag]][:8]}" for tag, name in tags.items()}


def _program(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise BadArgument(f"There is no file {text}.")
    if not path.stat().st_size:
        raise BadArgument(f"{text} is empty.")
    with path.open("rb") as file:
        head = file.read(16)
    if not is_program(head):
        raise BadArgument(f"{text} is not a program for Linux or macOS.")
    return path


def try_programs(programs: Iterable[Path]) -> None:
    """Start each program once, as a worker will. Raises BadArgument if one does not speak UCI."""
    try:
        trial = import_module("rookery.match.introduction")
    except ModuleNotFoundError:
        raise BadArgument(
            "Trying a program needs rookery-match, which is not installed here; give --untried to"
            " upload it as it is."
        ) from None
    for path in sorted(set(programs)):
        command = [str(path.absolute())]
        try:
            asyncio.run(trial.introduce(command, Threads(), seconds=UCIOK_SECONDS))
        except trial.NoIntroduction as failed:
            raise BadArgument(
                f"{path} does not play: {failed}. Give --untried to upload a program for another"
                " system."
            ) from None


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _field(flag: str, purpose: str, metavar: str) -> Parameter:
    return option(purpose, metavar, name=flag)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """Flags for the fields of a run, with the names of these fields."""

    new_tag: Annotated[
        str | None,
        _field("--new", "name of the new version, or a program such as ./new", "TAG|FILE"),
    ] = None
    base_tag: Annotated[
        str | None, _field("--base", "name of the base version, or a program", "TAG|FILE")
    ] = None
    resolved_new: Annotated[
        str | None, _field("--new-commit", "commit of the new version, 40 hex digits", "SHA")
    ] = None
    resolved_base: Annotated[
        str | None, _field("--base-commit", "commit of the base version", "SHA")
    ] = None
    new_signature: Annotated[
        str | None, _field("--new-bench", "bench of the new version, in nodes", "N")
    ] = None
    base_signature: Annotated[
        str | None, _field("--base-bench", "bench of the base version, in nodes", "N")
    ] = None
    tests_repo: Annotated[str | None, _field("--repo", "repository of both versions", "URL")] = None
    tc: Annotated[str | None, _field("--tc", "time control, such as 10+0.1 or N=25000", "TC")] = (
        None
    )
    new_tc: Annotated[
        str | None, _field("--new-tc", "time control of the new version, if it differs", "TC")
    ] = None
    book: Annotated[str | None, _field("--book", "opening book", "NAME")] = None
    book_sri: Annotated[str | None, _field("--book-sri", "hash of the book", "HASH")] = None
    new_options: Annotated[
        str | None,
        _field("--new-options", "options of the new version, such as 'Hash=16 Foo=3'", "OPTIONS"),
    ] = None
    base_options: Annotated[
        str | None, _field("--base-options", "options of the base version", "OPTIONS")
    ] = None
    info: Annotated[str | None, _field("--info", "description of the run", "TEXT")] = None
    num_games: Annotated[int | None, _field("--games", "most games to play", "N")] = None
    threads: Annotated[int | None, _field("--threads", "threads of each engine", "N")] = None
    priority: Annotated[
        int | None, _field("--priority", "runs of higher priority are played first", "N")
    ] = None
    throughput: Annotated[
        int | None, _field("--throughput", "weight against other runs, in per cent", "N")
    ] = None
    sprt: Annotated[Bounds, option("bounds of a sequential test")] = None
    spsa: Annotated[Path | None, option("parameters to tune", "FILE")] = None
    set: Annotated[list[str], option("any other field, such as auto_purge=true", "FIELD=JSON")] = (
        field(default_factory=list)
    )

    def given(self) -> dict[str, object]:
        """Return the given fields as a run has them. Raise BadArgument."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        found = {name: value for name, value in values.items() if value is not None}
        found.pop("set")
        if self.sprt is not None:
            found["sprt"] = {"elo0": self.sprt[0], "elo1": self.sprt[1]}
        if self.spsa is not None:
            found["spsa"] = {"raw_params": _text(self.spsa)}
        return found | dict(map(_assignment, self.set))


LATEST = "HEAD"
"""The default opponent of an engine's branch: the engine's main branch."""


def gather_fields(
    what: Sequence[str], preset: str | None, flags: RunFlags, client: Client
) -> dict[str, object]:
    """Return the fields of a run from preset, file and flags. Raise BadArgument."""
    given = flags.given()
    if len(what) > 2:
        raise BadArgument("Give an engine and a branch, or one file.")
    if len(what) == 2:
        return with_defaults(_of_engine(client.engine(what[0]), what[1], preset, given))
    if preset not in (None, QUICK_PRESET):
        raise BadArgument(
            "Presets belong to engines: give an engine and a branch. Only `quick` works without."
        )
    found = merge_fields(read_preset(QUICK) if preset else {}, given)
    if what:
        found = merge_fields(_from_file(what[0]), found)
    return with_defaults(found) if find_programs(found) else found


def _of_engine(
    record: EngineRecord, branch: str, preset: str | None, flags: Mapping[str, object]
) -> dict[str, object]:
    """Return the fields for a branch of an engine. A tune plays it against itself, a test against
    the main branch."""
    sides = {"new_engine": record.name, "base_engine": record.name, "new_tag": branch}
    fields = merge_fields(preset_fields(record, preset) | sides, flags)
    return {"base_tag": branch if ONE_PROGRAM & fields.keys() else LATEST} | fields


def preset_fields(record: EngineRecord, name: str | None) -> dict[str, object]:
    """Return the fields of a preset. Without a name: those of the engine's `default` preset, if it
    has one."""
    found = find_preset(record, name or PLAIN_PRESET)
    if found is None and name is not None:
        known = ", ".join(sorted(each.name for each in list_presets(record)))
        raise BadArgument(f"{record.name} has no preset {name}; it has: {known}.")
    return {} if found is None else read_preset(found)


def _from_file(name: str) -> dict[str, object]:
    if name != "-" and not Path(name).is_file():
        raise BadArgument(
            f"There is no file {name}; if it is an engine, give a branch after its name."
        )
    text = sys.stdin.read() if name == "-" else _text(Path(name))
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise BadArgument(f"{name} is not a JSON object: {error}.") from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadArgument(f"{file} can't be read.") from None


def find_flag(name: str) -> str:
    """Return the flag for a field of a run, for errors in which the server names the field."""
    known = {"new_binary": "--new", "base_binary": "--base", "sprt": "--sprt", "spsa": "--spsa"}
    for field_name, hint in get_type_hints(RunFlags, include_extras=True).items():
        for flag in hint.__metadata__[-1].name:
            known[field_name] = flag
    return known.get(name) or known.get(name.partition(".")[0]) or f"--set {name}="


def _assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadArgument(f"{text!r} is not of the form FIELD=JSON.")
    return name, read_value(value)
