"""Programs on this machine as the sides of a run: uploaded first, then named by their hashes."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from rookery.books import DEMO
from rookery.boundary.offload import Threads
from rookery.client import Client
from rookery.core.complaint import Complaint
from rookery.service.sources.binaries import is_program
from rookery.worker.engines.introduction import NoIntroduction, introduce
from rookery.worker.engines.nets import digest_of

SIDES = (("new_tag", "new_binary"), ("base_tag", "base_binary"))
ENGINES = {"new_tag": "new_engine", "base_tag": "base_engine"}
ORDINARY: Mapping[str, object] = {"tc": "10+0.1", "book": DEMO}
"""What two programs play by when nothing is said."""
ORDINARY_SPRT = {"elo0": 0.0, "elo1": 5.0}
QUICK: Mapping[str, object] = {"tc": "1+0.01", "sprt": {"elo0": 0.0, "elo1": 30.0}}
"""For a first look: large differences show within half an hour on two cores."""
KINDS = frozenset({"sprt", "spsa", "num_games"})
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
    kind = {} if KINDS & fields.keys() else {"sprt": ORDINARY_SPRT}
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
