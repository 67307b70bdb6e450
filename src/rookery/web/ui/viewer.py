"""Who looks at a page, as the core knows people."""

from starlette.requests import Request

from rookery.core.lifecycle import Actor
from rookery.service.groups import is_approver
from rookery.web.kit import kit_of
from rookery.web.scope import session_of


async def viewer_of(request: Request) -> Actor | None:
    """None for a visitor who is not logged in."""
    name = session_of(request.scope).user
    user = await kit_of(request).house.users.by_name(name) if name else None
    return None if user is None else Actor(user.name, approver=is_approver(user))
