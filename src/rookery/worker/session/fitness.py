"""Which engines this machine can play, and what is missing for the others."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rookery.core.demands import demands_of
from rookery.core.machine import Abilities, rookery_abilities
from rookery.core.needs import first_missing
from rookery.core.plan import Book, Plan, Side
from rookery.core.timecontrol import Clock
from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.known_engines import BUNDLED_COMMAND, catalogue_of, is_bundled
from rookery.worker.session.identity import Identity

COMPILED = frozenset({"make", "stockfish", "cmake"})
BUILDERS = {"make": "make", "stockfish": "make", "cmake": "cmake", "cargo": "cargo"}


@dataclass(frozen=True, slots=True)
class Fitness:
    """One engine, and why it can't be played here; empty when it can."""

    engine: str
    why_not: str


def fitness(records: Iterable[EngineRecord], identity: Identity) -> Iterator[Fitness]:
    """Looks for commands on the PATH, so that it belongs into a thread."""
    abilities = abilities_of(identity)
    for record in records:
        yield Fitness(
            record.name, _lacking(record, identity) or _unmet(record, identity, abilities)
        )


def abilities_of(identity: Identity) -> Abilities:
    """As the server will see them, but for the owner's teams."""
    facts = identity.facts
    return rookery_abilities(
        system=facts.system,
        cpu_flags=facts.flags,
        tools=facts.tools,
        syzygy_men=identity.offer.syzygy_men,
        sandbox=identity.sandbox,
        bundled_only=identity.bundled_only,
    )


def _lacking(record: EngineRecord, identity: Identity) -> str:
    """A sandbox, or a program that its recipe starts."""
    if identity.bundled_only and not is_bundled(record):
        return "there is no sandbox, and --without-sandbox was not given"
    kind, tools = record.recipe.kind, identity.facts.tools
    builder = BUILDERS.get(kind)
    if builder and builder not in tools:
        return f"{builder} is missing"
    if kind in COMPILED and not {"g++", "clang++"} & tools.keys():
        return "a compiler is missing: g++ or clang++"
    command = record.recipe.output.partition(" ")[0]
    if kind == "installed" and command != BUNDLED_COMMAND and shutil.which(command) is None:
        return f"the command {command or '(none)'} is missing"
    return ""


def _unmet(record: EngineRecord, identity: Identity, abilities: Abilities) -> str:
    """What a plain test of this engine would ask for."""
    sides = (Side("new", "", engine=record.name), Side("base", "", engine=record.name))
    plan = Plan(sides, games=2, tc=Clock(10, 0.1), owner="", book=Book("openings.epd"))
    demands = demands_of(plan, catalogue_of([record]))
    if missing := first_missing(demands.needs, abilities):
        return missing.sentence
    offer = identity.offer
    needed = demands.memory_mib(offer.concurrency)
    if needed > offer.memory_mib:
        return f"{offer.concurrency} games at a time take {needed} MiB of {offer.memory_mib}"
    return ""
