"""GET /api/calc_elo: Elo from counts given in the query."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.protocol.faults import WireFault
from rookery.protocol.user.elo import GAME_NAMES, PAIR_NAMES, FixedElo, elo_query
from rookery.service.estimates import estimate
from rookery.web.bodies import json_answer
from rookery.web.faults import BadRequest
from rookery.web.kit import kit_of
from rookery.web.openapi import Operation, described

COUNTS: dict[str, type] = dict.fromkeys((*PAIR_NAMES, *GAME_NAMES), int)
BOUNDS: dict[str, type] = {"elo0": float, "elo1": float, "elo_model": str}


@described(Operation("Elo from counted results", {200: FixedElo}, query={**COUNTS, **BOUNDS}))
@runs(Domain.THREAD, "up to a millisecond of arithmetic")
async def calc_elo(request: Request) -> Response:
    try:
        query = elo_query(request.query_params)
    except WireFault as fault:
        raise BadRequest(str(fault)) from None
    return json_answer(await kit_of(request).house.threads.cpu(estimate, query))
