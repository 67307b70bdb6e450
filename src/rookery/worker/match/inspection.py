"""Starts engines once before a match, to learn what options they have."""

from collections.abc import Sequence

from rookery.boundary.offload import Threads
from rookery.worker.match.spec import EngineSpec, Patience
from rookery.worker.match.uci import UciEngine


async def offered_options(specs: Sequence[EngineSpec]) -> tuple[frozenset[str], ...]:
    """The names each engine lists, in the order of the engines; raises EngineUnusable."""
    threads = Threads()
    return tuple([await _offered(spec, threads) for spec in specs])


async def _offered(spec: EngineSpec, threads: Threads) -> frozenset[str]:
    engine = UciEngine(spec, Patience(), threads)
    try:
        await engine.prepare(spec, chess960=False)
        return engine.offered
    finally:
        await engine.quit()


def unknown_options(spec: EngineSpec, offered: frozenset[str]) -> list[str]:
    """Options that are set and that the engine does not have; case does not matter in UCI."""
    known = {name.lower() for name in offered}
    return [name for name, _ in spec.options if name.lower() not in known]
