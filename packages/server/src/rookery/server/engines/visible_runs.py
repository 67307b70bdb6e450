"""Runs and tasks as one reader may see them."""

from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.views import FleetViews, UnknownRun


class VisibleRuns:
    """Reads runs for a reader. A run that they may not see is reported as if it did not exist."""

    def __init__(self, views: FleetViews, privacy: Privacy) -> None:
        self._views = views
        self._privacy = privacy

    async def find(self, run_id: str, viewer: str | None) -> Run:
        """Return a run that the viewer may see. Raise UnknownRun."""
        run = await self._views.known_run(run_id)
        if not self._privacy.may_see(viewer, run):
            raise UnknownRun(run=run_id)
        return run

    async def find_part(self, run_id: str, reader: Actor | None) -> Run:
        """As `find`, with the fields that the reader may see."""
        return self._privacy.visible_part(reader, await self.find(run_id, name_of(reader)))

    async def list_active(self, viewer: str | None) -> tuple[Run, ...]:
        active = await self._views.active()
        return tuple(run for run in active if self._privacy.may_see(viewer, run))

    async def tasks_at_play(self, viewer: str | None) -> tuple[Task, ...]:
        tasks = await self._views.tasks_at_play()
        if not self._privacy.hidden(viewer):
            return tasks
        seen = {run.id for run in await self.list_active(viewer)}
        return tuple(task for task in tasks if task.run in seen)
