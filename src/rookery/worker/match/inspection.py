"""Starts engines once before a match, to learn what they are called and what options they have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rookery.boundary.offload import Threads
from rookery.worker.match.spec import EngineSpec, Patience
from rookery.worker.match.uci import UciEngine

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Inspected:
    """What an engine said of itself; the name is empty where it gave none."""

    name: str
    options: frozenset[str]


async def inspect(
    specs: Sequence[EngineSpec], waiting_for: Callable[[EngineSpec], object]
) -> tuple[Inspected, ...]:
    """In the order of the engines, each told before it is started; raises EngineUnusable."""
    threads, found = Threads(), list[Inspected]()
    for spec in specs:
        waiting_for(spec)
        found.append(await _inspected(spec, threads))
    return tuple(found)


async def _inspected(spec: EngineSpec, threads: Threads) -> Inspected:
    engine = UciEngine(spec, Patience(), threads)
    try:
        await engine.prepare(spec, chess960=False)
        return Inspected(_presentable(engine.own_name), engine.offered)
    finally:
        await engine.quit()


def _presentable(name: str) -> str:
    """One line of printable text, and not a long one."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(plain.split())[:LONGEST_NAME].rstrip()


def unknown_options(spec: EngineSpec, offered: frozenset[str]) -> list[str]:
    """Options that are set and that the engine does not have; case does not matter in UCI."""
    known = {name.lower() for name in offered}
    return [name for name, _ in spec.options if name.lower() not in known]
