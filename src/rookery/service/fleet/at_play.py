"""Tasks at play, as lists show them; nothing is shown before it is committed."""

from rookery.core.task import Task
from rookery.service.fleet.primary import Primary


async def tasks_at_play(fleet: Primary, run_id: str = "") -> tuple[Task, ...]:
    """The active tasks of a run, or of all runs."""
    tenure = fleet.enter()
    runs = [run_id] if run_id else list(tenure.working.runs())
    found = tuple(task for each in runs for task in tenure.working.tasks(each))
    await fleet.settle(tenure)
    return found
