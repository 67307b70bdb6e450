"""Errors of the features as faults that clients read, and the runs that a reader may know of."""

from collections.abc import Iterator
from contextlib import contextmanager

from rookery.farm.engines import NotOfTeam, UnknownEngine, UnknownVersion
from rookery.farm.ports import UnknownMachine, UnknownRun, UnknownTask
from rookery.files.store import FileRefused, NotYourFile, QuotaExceeded, UnknownFile
from rookery.model.run import BadGames, FixedGames, NotApprover, NotYours, OwnRun, Run, RunFault
from rookery.model.task import Task
from rookery.people.teams import NotLeading, UnknownTeam
from rookery.people.users import UnknownUser
from rookery.protocol.codec import WireFault
from rookery.rules.lifecycle import Actor
from rookery.sources.grants import NotGranted
from rookery.web.faults import BadRequest, BodyTooLarge, Conflict, Forbidden, NotFound
from rookery.web.site import Site

NOT_ALLOWED = (NotYours, NotYourFile, NotApprover, OwnRun, NotOfTeam, NotLeading)
NOT_THERE = (
    UnknownRun,
    UnknownTask,
    UnknownMachine,
    UnknownFile,
    UnknownEngine,
    UnknownTeam,
    NotGranted,
    UnknownVersion,
)
NOT_SENSIBLE = (BadGames, FixedGames)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns errors of farm, files, people and sources into the faults that clients read."""
    try:
        yield
    except WireFault as fault:
        raise BadRequest(str(fault)) from None
    except NOT_ALLOWED as fault:
        raise Forbidden(_sentence(fault)) from None
    except NOT_THERE as fault:
        raise NotFound(_sentence(fault)) from None
    except QuotaExceeded as fault:
        raise BodyTooLarge(str(fault)) from None
    except FileRefused as fault:
        raise BadRequest(str(fault)) from None
    except UnknownUser as fault:
        raise NotFound(str(fault)) from None
    except NOT_SENSIBLE as fault:
        raise BadRequest(_sentence(fault)) from None
    except RunFault as fault:
        raise Conflict(_sentence(fault)) from None


async def seen_run(site: Site, run_id: str, viewer: str | None) -> Run:
    """A run that the viewer may know of; of any other, what is said of those that never were."""
    with refusals():
        run = await site.fleet.views.known_run(run_id)
        if not site.privacy.sees(viewer, run):
            raise UnknownRun(run=run_id)
    return run


async def shown_run(site: Site, run_id: str, reader: Actor | None) -> Run:
    """As `seen_run`, with as much of it as the reader may see."""
    run = await seen_run(site, run_id, None if reader is None else reader.name)
    return site.privacy.shown(reader, run)


async def seen_tasks_at_play(site: Site, viewer: str | None) -> tuple[Task, ...]:
    with refusals():
        tasks = await site.fleet.views.tasks_at_play()
        if not site.privacy.hidden(viewer):
            return tasks
        seen = {run.id for run in await site.fleet.views.active() if site.privacy.sees(viewer, run)}
    return tuple(task for task in tasks if task.run in seen)


def _sentence(fault: RunFault) -> str:
    text = str(fault)
    return f"{text[:1].upper()}{text[1:]}."
