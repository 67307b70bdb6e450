"""The page of a run, and the part of it that moves."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.run import Run
from rookery.protocol.user.action_filter import Compare, Order
from rookery.service.fleet.at_play import tasks_at_play
from rookery.web.api.desk import refusals
from rookery.web.kit import Kit, kit_of
from rookery.web.ui.page import go_to, made_fragment, made_page
from rookery.web.ui.viewer import viewer_of
from rookery.web.ui.views.run import RunMaterial, run_view

MOST_TASKS = 20
MOST_GROUPS = 50
MOST_ACTIONS = 20


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_page(request: Request) -> Response:
    kit = kit_of(request)
    material = await _material(kit, await _run(kit, request))
    whole = replace(await _with_history(kit, material), viewer=await viewer_of(request))
    return await made_page(request, "run.html", run_view, whole)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_live(request: Request) -> Response:
    """What moves on the page of a run, for its script."""
    kit = kit_of(request)
    material = await _material(kit, await _run(kit, request))
    return await made_fragment(request, "run_live.html", run_view, material)


@runs(Domain.LOOP, "names another address")
async def old_address(request: Request) -> Response:
    """Where the official server has the page of a run; workers print this address."""
    return go_to(f"/runs/{request.path_params['run_id']}")


async def _run(kit: Kit, request: Request) -> Run:
    """Deleted runs are hidden from lists, not from those who know their id."""
    with refusals():
        return await kit.house.fleet.known_run(str(request.path_params["run_id"]))


async def _material(kit: Kit, run: Run) -> RunMaterial:
    """What moves: one query for the points; the rest is in memory."""
    house = kit.house
    return RunMaterial(
        run=run,
        now=house.clock.now(),
        pulse=house.fleet.pulse(run.id),
        samples=await house.api.reads.samples(run.id),
        playing=await tasks_at_play(house.fleet, run.id),
        diagnosis=None if run.status.finished else await house.fleet.diagnosis(run.id),
    )


async def _with_history(kit: Kit, material: RunMaterial) -> RunMaterial:
    """What only the whole page shows: three queries."""
    reads, run_id = kit.house.api.reads, material.run.id
    return replace(
        material,
        contributions=await reads.contributions(run_id, MOST_GROUPS),
        tasks=await reads.latest_tasks(run_id, MOST_TASKS),
        actions=await reads.actions(Compare("run_id", Order.EQUAL, run_id), limit=MOST_ACTIONS),
    )
