"""The page of a run, and the part of it that moves."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.lifecycle import Actor
from rookery.core.run import Run
from rookery.protocol.user.action_filter import Compare, Order
from rookery.service.fleet.at_play import tasks_at_play
from rookery.service.fleet.ports import Contribution
from rookery.service.privacy import name_of
from rookery.web.kit import Kit, kit_of
from rookery.web.ui.page import go_to, made_fragment, made_page
from rookery.web.ui.viewer import plays, run_seen_by, viewer_of
from rookery.web.ui.views.run import RunMaterial, run_view

MOST_TASKS = 20
MOST_GROUPS = 50
MOST_ACTIONS = 20
REMEMBERED_SECONDS = 10.0


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_page(request: Request) -> Response:
    kit, viewer = kit_of(request), await viewer_of(request)
    material = await _material(kit, await run_seen_by(viewer, request), viewer)
    whole = await _with_history(kit, material)
    return await made_page(request, "run.html", run_view, whole)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_live(request: Request) -> Response:
    """What moves on the page of a run, for its script."""
    kit, viewer = kit_of(request), await viewer_of(request)
    material = await _material(kit, await run_seen_by(viewer, request), viewer)
    return await made_fragment(request, "run_live.html", run_view, material)


@runs(Domain.LOOP, "names another address")
async def old_address(request: Request) -> Response:
    """Where the official server has the page of a run; workers print this address."""
    return go_to(f"/runs/{request.path_params['run_id']}")


async def _material(kit: Kit, run: Run, viewer: Actor | None) -> RunMaterial:
    """What moves: one query for the points; the rest is in memory."""
    house = kit.house
    return RunMaterial(
        run=run,
        now=house.clock.now(),
        viewer=viewer,
        pulse=house.fleet.pulse(run.id),
        samples=await house.api.reads.samples(run.id),
        playing=await tasks_at_play(house.fleet, run.id),
        diagnosis=None if run.status.finished else await house.fleet.diagnosis(run.id),
        names={} if run.status.finished else await _names(kit, viewer),
    )


async def _contributions(kit: Kit, run_id: str) -> tuple[Contribution, ...]:
    """A run may have a hundred thousand tasks, and many may look at it at once."""
    found = kit.contributions.get(run_id)
    if found is None:
        found = await kit.house.api.reads.contributions(run_id, MOST_GROUPS)
        kit.contributions.put(run_id, found, REMEMBERED_SECONDS)
    return found


async def _names(kit: Kit, viewer: Actor | None) -> dict[str, str]:
    """Of the unfinished runs that this person may know of."""
    hidden = kit.house.api.privacy.hidden(name_of(viewer))
    shown = (run for run in await kit.house.fleet.active() if not plays(run, hidden))
    return {run.id: run.plan.sides[0].tag for run in shown}


async def _with_history(kit: Kit, material: RunMaterial) -> RunMaterial:
    """What only the whole page shows: four queries."""
    reads, run_id = kit.house.api.reads, material.run.id
    first = max(0, material.run.tally.tasks - MOST_TASKS)
    return replace(
        material,
        contributions=await _contributions(kit, run_id),
        apart=await reads.tasks_apart(run_id, MOST_TASKS),
        tasks=tuple(reversed(await reads.task_page(run_id, first, MOST_TASKS))),
        actions=await reads.actions(Compare("run_id", Order.EQUAL, run_id), limit=MOST_ACTIONS),
    )
