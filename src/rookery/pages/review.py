"""What an approver should know of runs, for the pages that show it (`review_hints.html`)."""

from collections.abc import Mapping, Sequence

from rookery.model.run import Run
from rookery.rules.lifecycle import Actor
from rookery.rules.review import NO_FACTS, Hint, review_submission
from rookery.web.site import Site


async def load_hints(
    site: Site, viewer: Actor | None, runs: Sequence[Run]
) -> Mapping[str, tuple[Hint, ...]]:
    """The hints by run, with one query. Only a run's people are told: its owner, its engine's
    team and approvers."""
    shown = [run for run in runs if site.privacy.is_insider(viewer, run)]
    facts = await site.reviews.load([run.id for run in shown]) if shown else {}
    return {
        run.id: review_submission(
            run, site.engines.catalogue.record(run.plan.engine), facts.get(run.id, NO_FACTS)
        )
        for run in shown
    }
