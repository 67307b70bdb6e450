"""Files that people give: programs to be played as they are."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.protocol import v1
from rookery.service.sources.binaries import EmptyUpload, NotAProgram
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1 import queries
from rookery.web.api.v1.givers import given_again, giver_of
from rookery.web.bodies import json_answer, pieces
from rookery.web.faults import BadRequest
from rookery.web.openapi import Operation, described


class UploadEndpoints:
    """Bodies are written down piece by piece; none is ever held in memory as a whole."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(
        Operation(
            "Upload a program",
            {201: v1.Uploaded},
            raw_body=True,
            query={"name": v1.Name, "engine": v1.Name},
            bearer=True,
        )
    )
    @runs(Domain.THREAD, "pieces are written and digested in threads")
    async def binary(self, request: Request) -> Response:
        desk = self._desk
        giver = await giver_of(request, desk)
        with refusals():
            name = queries.name_in(request.query_params, "name")
            try:
                body = pieces(request.receive)
                async with desk.large_bodies.place(giver.user):
                    kept = await desk.sources.binaries.take(body, name, giver.user)
            except (EmptyUpload, NotAProgram) as refused:
                raise BadRequest(str(type(refused).__doc__)) from None
        if kept.user == giver.user:
            await desk.holdings.add(kept.sha256, giver.engine)
        await given_again(desk, giver, kept.sha256, kept.size)
        return json_answer(v1.Uploaded(sha256=kept.sha256, size=kept.size), 201)
