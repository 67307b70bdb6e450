"""The fleet: the one door through which runs, tasks and blocks change; one per primary."""

from collections.abc import Mapping

from rookery.clock import Clock
from rookery.core.scheduling.policy import STANDARD_POLICY, Policy
from rookery.logs import Log
from rookery.service.fleet.chance import Chance, SystemChance
from rookery.service.fleet.people import Commands
from rookery.service.fleet.primary import Store
from rookery.service.fleet.purges import Aside, Purges, at_once
from rookery.service.fleet.turns import Turns
from rookery.service.fleet.views import STILL, Pulse
from rookery.service.fleet.workers import MOST_RUNS_REMEMBERED, WorkerCalls
from rookery.service.remembered import Remembered


class Fleet(WorkerCalls, Commands, Purges):
    """What workers call, what people command and what both may see, in a module each."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: Log,
        *,
        policy: Policy = STANDARD_POLICY,
        chance: Chance | None = None,
        aside: Aside = at_once,
    ) -> None:
        super().__init__(store, clock, log, policy)
        self._chance = chance or SystemChance()
        self._ended = Remembered(clock, MOST_RUNS_REMEMBERED)
        self._turns = Turns()
        self._aside = aside
        self._under_way: set[str] = set()
        self.pulses: dict[str, Pulse] = {}
        self.user_paces: Mapping[str, float] = {}
        """Games a minute that users' machines play now, as worked out once a minute."""
        self.waiting_machines = 0
        """Those that asked and got nothing, as counted twice a minute."""

    def pulse(self, run_id: str) -> Pulse:
        """How fast a run moves; known a minute after it began."""
        return self.pulses.get(run_id, STILL)
