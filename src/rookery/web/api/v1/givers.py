"""Who gives a file, and for which engine: what belongs to a private one is for its team alone."""

from dataclasses import dataclass

from starlette.requests import Request

from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of


@dataclass(frozen=True, slots=True)
class Giver:
    """A user, and the engine that a file is given for; empty where it is for none."""

    user: str
    engine: str


async def giver_of(request: Request, desk: ApiDesk) -> Giver:
    """Raises Unauthorized or Forbidden, and NotFound for an engine that the user may not know."""
    user = (await bearer_of(request, desk.bearers, Scope.SUBMIT)).user.name
    with refusals():
        engine = queries.name_in(request.query_params, "engine")
        desk.holdings.check(user, engine)
    return Giver(user, engine)
