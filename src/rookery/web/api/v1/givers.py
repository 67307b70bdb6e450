"""Who gives a file, and for which engine: what belongs to a private one is for its team alone."""

from dataclasses import dataclass

from starlette.requests import Request

from rookery.service.engines import TEAM_MARK
from rookery.service.holdings import GivenAgain
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of
from rookery.web.faults import BadRequest, Forbidden


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


async def given_again(desk: ApiDesk, giver: Giver, file: str, size: int) -> GivenAgain | None:
    """Notes that somebody gave a file that was there before, where they may not know that; raises
    BodyTooLarge as for a new one. None where there is nothing to hide."""
    if not desk.holdings.sees(giver.user, file):
        given = GivenAgain(file, giver.engine, giver.user, desk.clock.now(), size)
        with refusals():
            await desk.holdings.give_again(given, limit=desk.upload_quota)
    return desk.holdings.seen_again(giver.user, file)


def check_name(desk: ApiDesk, giver: Giver, name: str) -> None:
    """Names that begin with a team's and `~` are for that team alone, and what belongs to a private
    engine has such a name; raises Forbidden or BadRequest, whether the name is taken or not."""
    team, mark, _ = name.partition(TEAM_MARK)
    if mark and team not in desk.teams.of(giver.user):
        raise Forbidden("Only members of a team give files that are named after it.")
    owner = desk.engines.private.get(giver.engine)
    if owner is not None and not (mark and team == owner):
        wanted = f"{owner}{TEAM_MARK}{name}"
        raise BadRequest(f"What belongs to a private engine is named after its team: {wanted}.")
