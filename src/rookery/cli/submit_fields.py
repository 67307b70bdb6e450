"""The fields of a run out of a command line: an engine's preset, a file, flags; later ones win."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from rookery.books import DEMO
from rookery.boundary.offload import Threads
from rookery.cli.arguments import table
from rookery.client.client import Client
from rookery.errors import Complaint
from rookery.model.engine import EngineRecord, is_program
from rookery.protocol import v1
from rookery.worker.engines.orders import digest_of
from rookery.worker.engines.programs import NoIntroduction, introduce

# Programs on this machine as the sides of a run: uploaded first, then named by their hashes.

SIDES = (("new_tag", "new_binary"), ("base_tag", "base_binary"))
ENGINES = {"new_tag": "new_engine", "base_tag": "base_engine"}
ORDINARY: Mapping[str, object] = {"tc": "10+0.1", "book": DEMO}
"""What two programs play by when nothing is said."""
ORDINARY_SPRT = {"elo0": 0.0, "elo1": 5.0}
QUICK: Mapping[str, object] = {"tc": "1+0.01", "sprt": {"elo0": 0.0, "elo1": 30.0}}
"""For a first look: large differences show within half an hour on two cores."""
PLAYING_KINDS = frozenset({"sprt", "spsa", "num_games"})
UCIOK_SECONDS = 20.0


class NoProgram(Complaint):
    """What should be a program is none."""

    exit_code = 2


def programs_in(fields: Mapping[str, object]) -> dict[str, Path]:
    """The sides that name a file, by the field of their tag; raises NoProgram."""
    named = {tag: fields.get(tag) for tag, _ in SIDES}
    return {
        tag: _program(text)
        for tag, text in named.items()
        if isinstance(text, str) and is_path(text)
    }


def is_path(text: str) -> bool:
    """A branch may hold a slash too; a path begins as one does, or a file is there."""
    begins = text.startswith(("./", "../", "/", "~"))
    return begins or ("/" in text and Path(text).is_file())


def with_defaults(fields: dict[str, object]) -> dict[str, object]:
    kind = {} if PLAYING_KINDS & fields.keys() else {"sprt": ORDINARY_SPRT}
    return {**ORDINARY, **kind, **fields}


def uploaded(
    fields: dict[str, object], programs: Mapping[str, Path], client: Client
) -> dict[str, object]:
    """The fields of a run between these programs. The same file is sent once."""
    engines = {path: str(fields.get(ENGINES[tag]) or "") for tag, path in programs.items()}
    for path, engine in engines.items():
        if not client.has_program(digest_of(path)):
            client.upload(path, engine)
    return with_hashes(fields, programs)


def with_hashes(fields: dict[str, object], programs: Mapping[str, Path]) -> dict[str, object]:
    """The programs as a run names them."""
    hashes = {path: digest_of(path) for path in set(programs.values())}
    tags = {tag: path.name for tag, path in programs.items()}
    binaries = {binary: hashes[programs[tag]] for tag, binary in SIDES if tag in programs}
    return fields | _apart(tags, binaries) | binaries


def _apart(tags: dict[str, str], binaries: dict[str, str]) -> dict[str, str]:
    """Two programs of one name are told apart by their hashes."""
    if len(set(tags.values())) == len(tags):
        return tags
    by_tag = dict(SIDES)
    return {tag: f"{name}-{binaries[by_tag[tag]][:8]}" for tag, name in tags.items()}


def _program(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise NoProgram(f"There is no file {text}.")
    if not path.stat().st_size:
        raise NoProgram(f"{text} is empty.")
    with path.open("rb") as file:
        head = file.read(16)
    if not is_program(head):
        raise NoProgram(f"{text} is no program: no system could execute it.")
    return path


def try_programs(programs: Iterable[Path]) -> None:
    """Start each once, as a worker will; raises NoProgram where one does not speak UCI."""
    for path in sorted(set(programs)):
        try:
            asyncio.run(_introduce(path.absolute()))
        except NoIntroduction as failed:
            raise NoProgram(
                f"{path} does not play: {failed}. One that is built for another system is uploaded"
                " with --untried."
            ) from None


async def _introduce(path: Path) -> None:
    await introduce([str(path)], Threads(), seconds=UCIOK_SECONDS)


TEXTS = (
    ("--new", "new_tag", "TAG|FILE", "name of the new version, or a program such as ./new"),
    ("--base", "base_tag", "TAG|FILE", "what it plays against, likewise"),
    ("--new-commit", "resolved_new", "SHA", "its commit, 40 hex digits"),
    ("--base-commit", "resolved_base", "SHA", "the other commit"),
    ("--new-bench", "new_signature", "N", "nodes of its bench"),
    ("--base-bench", "base_signature", "N", "nodes of the other bench"),
    ("--repo", "tests_repo", "URL", "where both versions come from"),
    ("--tc", "tc", "TC", "time control, such as 10+0.1 or N=25000"),
    ("--new-tc", "new_tc", "TC", "another one for the new version"),
    ("--book", "book", "NAME", "opening book"),
    ("--book-sri", "book_sri", "HASH", "the book's hash"),
    ("--new-options", "new_options", "OPTIONS", "such as 'Hash=16 Foo=3'"),
    ("--base-options", "base_options", "OPTIONS", "those of the base version"),
    ("--info", "info", "TEXT", "what it is about"),
)
NUMBERS = (
    ("--games", "num_games", "how many at the most"),
    ("--threads", "threads", "of each engine"),
    ("--priority", "priority", "higher ones go first"),
    ("--throughput", "throughput", "its weight in per cent"),
)
KINDS = frozenset({"sprt", "spsa"})
PLAIN_PRESET = "default"
QUICK_PRESET = "quick"
"""Known for every engine and for programs, unless a record has one of this name."""
LATEST = "HEAD"
"""What an engine's branch plays against unless something else is said: its main line."""
WORDS = frozenset(
    {
        *("new_tag", "base_tag", "tests_repo", "new_repo", "base_repo", "tc", "new_tc", "book"),
        *("book_sri", "new_options", "base_options", "info", "new_engine", "base_engine"),
        *("arch_filter", "compiler", "variant", "scaling", "pgn_detail"),
    }
)
"""Fields that are texts whatever they look like; those of others are JSON if they can be."""


class BadSubmission(Complaint):
    """What was given on the command line can't be sent."""

    exit_code = 2


def fields_of(parsed: argparse.Namespace, client: Client) -> dict[str, object]:
    """All that is known of the run; raises BadSubmission."""
    flags = _flags(parsed)
    if len(parsed.what) > 2:
        raise BadSubmission("Expected an engine and a branch, or one file.")
    if len(parsed.what) == 2:
        engine, branch = parsed.what
        return with_defaults(_of_engine(client.engine(engine), branch, parsed.preset, flags))
    if parsed.preset not in (None, QUICK_PRESET):
        raise BadSubmission(
            "A preset belongs to an engine: name the engine and a branch. Only `quick` is for all."
        )
    fields = laid_over(QUICK if parsed.preset else {}, flags)
    if parsed.what:
        fields = laid_over(_from_file(parsed.what[0]), fields)
    return with_defaults(fields) if programs_in(fields) else fields


def _flags(parsed: argparse.Namespace) -> dict[str, object]:
    given = vars(parsed)
    names = [field for _, field, *_ in (*TEXTS, *NUMBERS)]
    fields: dict[str, object] = {name: given[name] for name in names if given[name] is not None}
    if parsed.sprt is not None:
        fields["sprt"] = parsed.sprt
    if parsed.spsa is not None:
        fields["spsa"] = {"raw_params": _text(parsed.spsa)}
    return fields | dict(map(_assignment, parsed.set))


def laid_over(before: Mapping[str, object], flags: Mapping[str, object]) -> dict[str, object]:
    """Flags win. Of a kind of run they may say a part, such as a tune's parameters, and the rest is
    as it was; another kind goes with all it had."""
    named = KINDS & flags.keys()
    kept = {name: value for name, value in before.items() if not named or name not in KINDS - named}
    parts = {name: _joined(kept.get(name), flags[name]) for name in named}
    return kept | dict(flags) | parts


def _joined(before: object, given: object) -> object:
    return before | given if isinstance(before, dict) and isinstance(given, dict) else given


def _of_engine(
    record: EngineRecord, branch: str, preset: str | None, flags: Mapping[str, object]
) -> dict[str, object]:
    """A tune plays a branch against itself; a test against the main line, or what a preset says."""
    sides = {"new_engine": record.name, "base_engine": record.name, "new_tag": branch}
    fields = laid_over(preset_fields(record, preset) | sides, flags)
    return {"base_tag": branch if "spsa" in fields else LATEST} | fields


def preset_fields(record: EngineRecord, name: str | None) -> dict[str, object]:
    """Without a name the one called `default`, if there is one."""
    presets = {each.name: each.settings for each in record.presets}
    if name is None:
        return _settings(presets.get(PLAIN_PRESET, {}))
    if name == QUICK_PRESET and name not in presets:
        return dict(QUICK)
    if name not in presets:
        known = ", ".join(sorted({*presets, QUICK_PRESET}))
        raise BadSubmission(f"{record.name} has no preset {name}; it has: {known}.")
    return _settings(presets[name])


def _settings(texts: Mapping[str, str]) -> dict[str, object]:
    return {name: text if name in WORDS else _value(text) for name, text in texts.items()}


def _from_file(name: str) -> dict[str, object]:
    if name != "-" and not Path(name).is_file():
        raise BadSubmission(f"There is no file {name}; after an engine's name comes a branch.")
    text = sys.stdin.read() if name == "-" else _text(Path(name))
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise BadSubmission(f"{name} is not a JSON object: {error}.") from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadSubmission(f"{file} can't be read.") from None


def bounds(text: str) -> dict[str, float]:
    try:
        elo0, elo1 = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("expected two numbers such as 0,2") from None
    return {"elo0": elo0, "elo1": elo1}


def flag_of(field: str) -> str:
    """The flag that gives a field of a run, for errors of the server that name the field."""
    known = {name: flag for flag, name, *_ in (*TEXTS, *NUMBERS)}
    known |= {"new_binary": "--new", "base_binary": "--base", "sprt": "--sprt", "spsa": "--spsa"}
    return known.get(field) or known.get(field.partition(".")[0]) or f"--set {field}="


def _assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadSubmission(f"{text!r} is not of the form FIELD=JSON.")
    return name, _value(value)


def _value(text: str) -> object:
    """What is no JSON is the text itself, so that few things need quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text


# What a run will take, in words, before it is made.

FEW_HOURS = 48


def estimate(preview: v1.Preview) -> str:
    args = preview.args
    new = f"{args.new_tag} ({args.resolved_new[:8]})"
    base = f"{args.base_tag} ({args.resolved_base[:8]})"
    lines = [
        f"{new} vs {base}, {args.tc}, {args.book}",
        *_lengths(preview),
        f"Cost: about {_amount(preview.core_hours)} core hours, for {preview.games:,.0f} games.",
        _fleet(preview.fleet),
    ]
    return "\n".join(lines)


def _lengths(preview: v1.Preview) -> list[str]:
    if not preview.lengths:
        return []
    rows = [
        (
            f"{length.elo:+g}",
            f"{length.pass_chance:.0%}",
            f"{length.mean_games:,.0f}",
            f"{length.early_games:,.0f} to {length.late_games:,.0f}",
        )
        for length in preview.lengths
    ]
    return [table(("if it is worth", "it passes", "mean games", "8 of 10 tests take"), rows)]


def _fleet(fleet: v1.FleetNow) -> str:
    if not isinstance(fleet.hours, float):
        return "No machine that could play it is connected right now."
    which = "With the one machine" if fleet.machines == 1 else f"With all {fleet.machines} machines"
    cores = "1 core" if fleet.cores == 1 else f"{fleet.cores} cores"
    return f"{which} connected that could play it ({cores}): {_hours(fleet.hours)}."


def _hours(hours: float) -> str:
    if hours < 1:
        return f"about {max(1, round(hours * 60))} minutes"
    if hours < FEW_HOURS:
        return f"about {hours:.1f} hours"
    return f"about {hours / 24:.0f} days"


def _amount(number: float) -> str:
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"
