"""Notifications by mail, ended at one click in a program that reads mail."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.people.links import LinkPurpose, LinkRefused
from rookery.people.users import User
from rookery.web.answers import site_of
from rookery.web.bodies import json_answer
from rookery.web.faults import NotFound
from rookery.web.openapi import Operation, described


class Unsubscribed(msgspec.Struct, frozen=True, kw_only=True):
    """No more mail is sent."""

    unsubscribed: bool = True


@described(
    Operation(
        "End notifications by mail, as the header of a letter asks (RFC 8058)",
        {200: Unsubscribed},
        query={"token": str},
    )
)
@runs(Domain.LOOP, "awaits one write")
async def unsubscribe_at_once(request: Request) -> Response:
    """The link in the letter is all that the caller has to show."""
    token = request.query_params.get("token", "")
    user = await find_linked_user(request, LinkPurpose.UNSUBSCRIBE, token)
    await site_of(request).channels.silence_mail(user.name)
    return json_answer(Unsubscribed())


async def find_linked_user(request: Request, purpose: LinkPurpose, token: str) -> User:
    """Whose link from a letter it is; raises NotFound with what to do about it."""
    site = site_of(request)
    try:
        user = await site.users.by_name(site.links.read_name(purpose, token))
        return site.links.check(purpose, token, user)
    except LinkRefused as refused:
        raise NotFound(str(refused)) from None
