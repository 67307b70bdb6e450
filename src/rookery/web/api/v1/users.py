"""Accounts: asked for, accepted, blocked, put into groups, limited."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.complaint import Complaint
from rookery.protocol import people, v1
from rookery.protocol.decoding import Reader
from rookery.service.accounts import AccountChange, NotWaiting, OwnAccount
from rookery.service.bearers import Bearer
from rookery.service.groups import group_named, is_approver
from rookery.service.login import Throttled
from rookery.service.sign_up import Applicant, SignUpClosed
from rookery.service.tokens import Scope
from rookery.service.users import UnknownUser, User
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1.callers import bearer_of
from rookery.web.api.v1.moves import or_none
from rookery.web.api.v1.views import user_of
from rookery.web.bodies import json_answer, read_body
from rookery.web.faults import BadRequest, Conflict, Forbidden, TooManyRequests
from rookery.web.openapi import Operation, described
from rookery.web.scope import facts_of

APPLICATION = Reader(people.Application)
CHANGE = Reader(people.UserChange)
BY_NAME = {"user": v1.Name}
CHANGED: dict[int, type | str] = {200: people.UserEntry}


class UserEndpoints:
    """Everybody may ask for an account; the rest is for approvers."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(Operation("Ask for an account", {201: people.UserEntry}, body=people.Application))
    @runs(Domain.THREAD, "the password is judged and hashed in threads")
    async def create(self, request: Request) -> Response:
        body = await read_body(request.receive)
        with refusals():
            said = APPLICATION.read(body)
        applicant = Applicant(said.name, said.password, said.email)
        try:
            user = await self._desk.sign_up.apply(applicant, facts_of(request.scope).client)
        except Throttled:
            raise TooManyRequests from None
        except SignUpClosed as closed:
            raise Forbidden(str(closed)) from None
        except Complaint as refused:
            raise BadRequest(str(refused)) from None
        return json_answer(user_of(user, to_approver=True), 201)

    @described(Operation("An account", CHANGED, path=BY_NAME, bearer=True))
    @runs(Domain.LOOP, "awaits one query")
    async def one(self, request: Request) -> Response:
        bearer = await bearer_of(request, self._desk.bearers, Scope.READ, Scope.ADMIN)
        name = _name(request)
        with refusals():
            user = await self._desk.users.by_name(name)
            full = is_approver(bearer.user) or bearer.user.name == name
            if user is None or (user.pending and not full):
                raise UnknownUser(name)
        return json_answer(user_of(user, to_approver=full))

    @described(
        Operation(
            "Accept, block, group or limit an account",
            CHANGED,
            path=BY_NAME,
            body=people.UserChange,
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one write")
    async def change(self, request: Request) -> Response:
        bearer = await self._approver(request)
        body = await read_body(request.receive)
        with refusals():
            wanted = _change(CHANGE.read(body))
            if wanted.groups is not None and Scope.ADMIN not in bearer.scopes:
                raise Forbidden("Groups are changed with a token for admin.")
            return await self._changed(_name(request), wanted, bearer)

    @described(
        Operation("Remove an account that was never accepted", CHANGED, path=BY_NAME, bearer=True)
    )
    @runs(Domain.LOOP, "awaits one write")
    async def reject(self, request: Request) -> Response:
        bearer = await self._approver(request)
        with refusals():
            try:
                user = await self._desk.accounts.reject(_name(request), by=bearer.user.name)
            except NotWaiting as refused:
                raise Conflict(str(refused)) from None
        return _answer(user)

    async def _changed(self, name: str, wanted: AccountChange, bearer: Bearer) -> Response:
        try:
            return _answer(await self._desk.accounts.change(name, wanted, by=bearer.user.name))
        except OwnAccount as refused:
            raise Conflict(str(refused)) from None

    async def _approver(self, request: Request) -> Bearer:
        bearer = await bearer_of(request, self._desk.bearers, Scope.APPROVE, Scope.ADMIN)
        if not is_approver(bearer.user):
            raise Forbidden("Only an approver may do this.")
        return bearer


def _change(body: people.UserChange) -> AccountChange:
    groups = or_none(body.groups)
    return AccountChange(
        accepted=body.pending is False,
        blocked=or_none(body.blocked),
        groups=None if groups is None else frozenset(map(group_named, groups)),
        machine_limit=or_none(body.machine_limit),
    )


def _answer(user: User) -> Response:
    return json_answer(user_of(user, to_approver=True))


def _name(request: Request) -> str:
    return str(request.path_params["user"])
