"""Demands: the fixed part of a run that a machine is measured against, worked out once."""

from dataclasses import dataclass

from rookery.core.engine import Catalogue
from rookery.core.needs import Need, needs_of
from rookery.core.plan import Plan


@dataclass(frozen=True, slots=True)
class Demands:
    """Runs with equal demands suit the same machines: they form one eligibility class."""

    engine: str
    threads: int = 1
    machine_mib: int = 0
    slot_mib: int = 0
    arch_filter: str = ""
    compiler: str = ""
    mirrored: bool = False
    needs: tuple[Need, ...] = ()

    def slots(self, cores: int) -> int:
        """How many games such a machine plays at once."""
        return cores // self.threads

    def memory_mib(self, cores: int) -> int:
        """What all games at once take."""
        return self.machine_mib + self.slots(cores) * self.slot_mib


def demands_of(plan: Plan, catalogue: Catalogue, extra: tuple[Need, ...] = ()) -> Demands:
    """The demands of a plan; `extra` are the needs that its kind of run adds."""
    records = {side.engine: catalogue.record(side.engine).memory for side in plan.sides}
    return Demands(
        engine=plan.engine,
        threads=plan.slot_threads,
        machine_mib=max(memory.machine for memory in records.values()),
        slot_mib=sum(
            side.hash_mib
            + records[side.engine].process
            + records[side.engine].thread * plan.side_threads(side)
            for side in plan.sides
        ),
        arch_filter=plan.wishes.arch_filter,
        compiler=plan.wishes.compiler,
        mirrored=plan.wishes.mirrored,
        needs=(*needs_of(plan, catalogue), *extra),
    )
