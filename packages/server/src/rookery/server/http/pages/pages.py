"""The one way to write a page: a typed function that returns what its template shows.

    pages = Pages("/teams")

    @pages("GET /teams", "teams are in memory")
    async def list_own_teams(viewer: Actor, teams: Teams) -> Page:
        return Page("teams.html", {"teams": teams.list_visible(viewer)})

Parameters are filled as those of other endpoints are (`http/endpoint.py`), and besides:

| parameter | gets |
|---|---|
| `Actor` | the viewer; who is not logged in is sent to the login |
| `Actor or None` | the viewer; None for a visitor |
| `User`, `User or None` | the same, with the whole account |
| `Form` | what was posted |

The domain is THREAD, since pages are rendered in threads. A Response is passed through, such as a
redirect after a form; `Session` takes messages for the next page. A page that a refused form shows
again is a method of `Parts`, which hold what it needs.
"""

import functools
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.actor import Actor
from rookery.core.protocol.codec import ORDINARY_BYTES
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.endpoint import mark_features
from rookery.server.http.pages.page import (
    account_of,
    redirect_to,
    render_fixed_page,
    render_fragment,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.http.signatures import Call, Features, Signature
from rookery.server.identity.users import User

F = TypeVar("F", bound=Callable[..., Awaitable[object]])
PageFunction = Callable[[Request], Awaitable[Response]]
FindViewer = Callable[[Request], Awaitable[Actor | User | None]]


def keep(shown: Any) -> Any:
    """Makes nothing: the template shows what was loaded."""
    return shown


@dataclass(frozen=True, slots=True)
class Page:
    """A template and what it shows, under the name `view`."""

    template: str
    shown: Any = None
    status: int = 200
    make: Callable[[Any], object] = keep
    """Computes in the thread what the template shows, where that is expensive."""
    key: Hashable = None
    """What the page depends on besides its frame, if visitors may share one rendering."""
    is_part: bool = False
    """Whether it is a part of a page, without a frame."""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def answer(self, request: Request) -> Response:
        rendered = await self._render(request)
        rendered.headers.update(self.headers)
        return rendered

    async def _render(self, request: Request) -> Response:
        if self.is_part:
            return await render_fragment(request, self.template, self.make, self.shown)
        if self.key is not None:
            return await render_fixed_page(request, self.template, self.make, self.shown, self.key)
        return await render_page_in_thread(
            request, self.template, self.make, self.shown, self.status
        )


class Pages:
    """The pages of a module, each a typed function."""

    def __init__(self, back: str = "/") -> None:
        """`back` is where a visitor goes on after the login, such as `/users/{user}`."""
        self._back = back
        self._found: list[tuple[list[str], str, PageFunction]] = []

    def __call__(
        self,
        place: str,
        why: str,
        *,
        where: Domain = Domain.THREAD,
        needs_primary: bool = False,
        back: str = "",
    ) -> Callable[[F], F]:
        """Declare a function as the page of a method and a path, such as `GET /teams`, or of
        several methods, such as `GET|POST /login`. `back` replaces that of the module."""
        methods, _, path = place.partition(" ")
        mark = runs(where, why, needs_primary=needs_primary)

        def declare(function: F) -> F:
            signature = Signature(function, path, most_bytes=ORDINARY_BYTES, empty_body=False)
            answer = _make_endpoint(mark(function), signature, back or self._back)
            self._found.append((methods.split("|"), path, answer))
            return function

        return declare

    def make_routes(self) -> list[BaseRoute]:
        """The routes of one app, in the order in which they were declared."""
        return [Route(path, answer, methods=methods) for methods, path, answer in self._found]


def _make_endpoint(function: F, signature: Signature, back: str) -> PageFunction:
    """The function as Starlette calls it."""
    takes, needs_login = signature.takes, signature.caller in (Actor, User)
    find_viewer = _find_viewer_of(signature.caller)
    if signature.read_body is not None:
        raise signature.refuse("a page takes a Form, not a body")

    @functools.wraps(function)
    async def answer(request: Request) -> Response:
        viewer = await find_viewer(request) if find_viewer else None
        if viewer is None and needs_login:
            return lead_to_login(back, request.path_params)
        features: Features = request.app.state.features
        call = Call(request, features, viewer, None)
        made: Any = await function(**{name: take(call) for name, take in takes})
        answered: Response = await made.answer(request) if isinstance(made, Page) else made
        return answered

    mark_features(answer, signature)
    return answer


def _find_viewer_of(asked: object) -> FindViewer | None:
    """What finds the viewer, as a page asks for them."""
    if asked is None:
        return None
    return account_of if asked in (User, User | None) else viewer_of


def lead_to_login(back: str, names: Mapping[str, str]) -> Response:
    """The login, after which the visitor goes on at `back` with these names in it."""
    # A name is quoted as a part of that address, which is then a value in another one.
    quoted = {name: quote(quote(text, safe="")) for name, text in names.items()}
    return redirect_to(f"/login?next={back.format_map(quoted)}")
