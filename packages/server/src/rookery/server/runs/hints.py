"""Hints about runs for approvers, for the pages that show them (`review_hints.html`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.engines.engines import Engines
from rookery.server.engines.privacy import Privacy
from rookery.server.farm.rules.review import NO_FACTS, Hint, review_submission
from rookery.server.http.signatures import Parts
from rookery.server.sources.reviews import Reviews


@dataclass(frozen=True, slots=True)
class HintReader(Parts):
    """Reads the hints about runs. They are visible only to a run's people: its owner, its engine's
    team and approvers."""

    privacy: Privacy
    reviews: Reviews
    engines: Engines

    async def load(
        self, viewer: Actor | None, runs: Sequence[Run]
    ) -> Mapping[str, tuple[Hint, ...]]:
        """The hints by run, loaded by one query."""
        shown = [run for run in runs if self.privacy.is_insider(viewer, run)]
        facts = await self.reviews.load([run.id for run in shown]) if shown else {}
        return {
            run.id: review_submission(
                run, self.engines.catalogue.record(run.plan.engine), facts.get(run.id, NO_FACTS)
            )
            for run in shown
        }
