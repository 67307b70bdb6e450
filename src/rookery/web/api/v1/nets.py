"""Nets: listed, given by programs, and removed."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.events import Action, about_net
from rookery.core.lifecycle import Actor
from rookery.protocol import v1
from rookery.service.holdings import GivenAgain
from rookery.service.nets import Net, NetRefused, NotYourNet, UnknownNet
from rookery.service.sources.net_intake import NetIntake
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of, viewer_of
from rookery.web.api.v1.givers import given_again, giver_of
from rookery.web.bodies import json_answer, pieces
from rookery.web.faults import BadRequest
from rookery.web.openapi import Operation, described

BY_NAME = {"name": v1.Name}


class NetEndpoints:
    """Those of a private engine are seen by its team alone."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk
        self._intake = NetIntake(
            desk.nets, desk.net_files, desk.threads, desk.clock, limit=desk.upload_quota
        )

    @described(Operation("All nets, newest first", {200: v1.NetList}))
    @runs(Domain.LOOP, "awaits one query")
    async def listing(self, request: Request) -> Response:
        desk = self._desk
        viewer = await viewer_of(request, desk.bearers)
        nets = await desk.nets.everything()
        seen = [net for net in nets if desk.holdings.sees(viewer, net.name)]
        shown = (_entry(net, desk.holdings.seen_again(viewer, net.name)) for net in seen)
        return json_answer(v1.NetList(nets=tuple(shown)))

    @described(
        Operation(
            "Give a net",
            {201: v1.NetEntry},
            raw_body=True,
            query={"name": v1.Name, "engine": v1.Name},
            bearer=True,
        )
    )
    @runs(Domain.THREAD, "pieces are digested, packed and written in threads")
    async def give(self, request: Request) -> Response:
        desk = self._desk
        giver = await giver_of(request, desk)
        with refusals():
            name = queries.name_in(request.query_params, "name")
            try:
                body = pieces(request.receive)
                async with desk.large_bodies.place(giver.user):
                    net, is_new = await self._intake.take(body, name, giver.user)
            except NetRefused as refused:
                raise BadRequest(str(refused)) from None
        if not is_new:
            return json_answer(_entry(net, await given_again(desk, giver, net.name, net.size)), 201)
        await desk.holdings.add(net.name, giver.engine)
        await self._tell(net, giver.user, giver.engine)
        return json_answer(_entry(net), 201)

    @described(Operation("Remove a net", {200: v1.NetEntry}, path=BY_NAME, bearer=True))
    @runs(Domain.THREAD, "its file is removed in a thread")
    async def remove(self, request: Request) -> Response:
        desk, name = self._desk, str(request.path_params["name"])
        actor = (await bearer_of(request, desk.bearers, Scope.SUBMIT, Scope.APPROVE)).actor
        with refusals():
            if not desk.holdings.sees(actor.name, name):
                raise UnknownNet(name=name)
            if (again := desk.holdings.seen_again(actor.name, name)) is not None:
                return await self._taken_back(name, again, actor)
            removed = await self._intake.remove(name, actor, await desk.fleet.active())
        engine = desk.holdings.engine_of(name)
        await desk.holdings.forget(name)
        await self._tell(removed, actor.name, engine, Action.REMOVE_NN)
        return json_answer(_entry(removed))

    async def _taken_back(self, name: str, again: GivenAgain, actor: Actor) -> Response:
        """Raises UnknownNet or NotYourNet; the file stays for those who gave it first."""
        net = await self._desk.nets.by_name(name)
        if net is None:
            raise UnknownNet(name=name)
        if not (actor.approver or actor.name == again.user):
            raise NotYourNet
        await self._desk.holdings.take_back(again)
        return json_answer(_entry(net, again))

    async def _tell(
        self, net: Net, user: str, engine: str, action: Action = Action.UPLOAD_NN
    ) -> None:
        """The line of a private engine's net is for its team."""
        now, audit = self._desk.clock.now(), self._desk.accounts.audit
        await audit.write(about_net(net.name, user, now, engine, action))


def _entry(net: Net, again: GivenAgain | None = None) -> v1.NetEntry:
    return v1.NetEntry(
        name=net.name,
        size=net.size,
        user=again.user if again else net.user,
        created=again.at if again else net.created,
        downloads=0 if again else net.downloads,
    )
