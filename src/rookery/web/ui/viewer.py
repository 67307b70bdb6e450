"""Who looks at a page, as the core knows people, and which runs they may see."""

from collections.abc import Collection

from starlette.requests import Request

from rookery.core.lifecycle import Actor
from rookery.core.run import Run
from rookery.service.groups import is_approver
from rookery.web.api.desk import shown_run
from rookery.web.kit import kit_of
from rookery.web.scope import session_of


async def viewer_of(request: Request) -> Actor | None:
    """None for a visitor who is not logged in."""
    name = session_of(request.scope).user
    user = await kit_of(request).house.users.by_name(name) if name else None
    return None if user is None else Actor(user.name, approver=is_approver(user))


def plays(run: Run, engines: Collection[str]) -> bool:
    return any(side.engine in engines for side in run.plan.sides)


async def run_seen_by(viewer: Actor | None, request: Request) -> Run:
    """The run that the address names; raises NotFound for one that this person may not know of.

    Deleted runs are hidden from lists, not from those who know their id.
    """
    run_id = str(request.path_params["run_id"])
    return await shown_run(kit_of(request).house.api, run_id, viewer)
