"""A page is a typed function: who sees it, what fills it, and what becomes of its value."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from rookery.server.boundary.domains import Domain, declaration_of
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import BadEndpoint, Parts
from rookery.server.people.users import User, Users
from rookery.server.teams.teams import Teams
from tests.twins.sites import make_site, open_site

pytestmark = pytest.mark.anyio

pages = Pages("/kennel")


@pages("GET /kennel", "nothing is loaded")
async def show_kennel(viewer: Actor, teams: Teams) -> Page:
    """The kennel of whoever is logged in."""
    raise AssertionError(f"{viewer} sees {teams}")


@pages("GET|POST /kennel/open", "nothing is loaded")
async def show_open(viewer: Actor | None, form: Form, session: Session) -> Response:
    """What visitors see."""
    session.flash("hello")
    return redirect_to(f"/kennel/{viewer}/{form.text('name')}")


@pages("GET /kennel/{dog}", "one name is read", where=Domain.LOOP)
async def show_dog(request: Request, dog: str, users: Users) -> Response:
    """A dog by its name."""
    return Response(f"{dog} {request.method} {type(users).__name__}")


@dataclass(frozen=True, slots=True)
class Owner(Parts):
    """Who asks, and what they posted."""

    owner: User | None
    users: Users
    form: Form


@pages("GET /kennel/{owner}/owner", "nothing is loaded", where=Domain.LOOP)
async def name_owner(owner: str, parts: Owner) -> Response:
    """The owner of the kennel."""
    return Response(f"{owner} {parts.owner} {type(parts.users).__name__} {parts.form.fields}")


@pages("GET /kennel/own/account", "nothing is loaded")
async def show_account(owner: User) -> Page:
    """The account of whoever is logged in."""
    raise AssertionError(owner)


@pages("GET /kennel/show/secret", "nothing is loaded")
async def show_secret() -> Page:
    """A page that shows a secret."""
    return Page("link.html", {}, unseen=True)


@asynccontextmanager
async def visitor() -> AsyncIterator[httpx.AsyncClient]:
    async with open_site(make_site(), *pages.make_routes()) as site:
        yield site.browser


async def test_who_is_not_logged_in_is_sent_to_the_login_and_back() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel")
        assert (answer.status_code, answer.headers["location"]) == (302, "/login?next=/kennel")


async def test_a_page_for_all_gets_no_viewer_and_a_response_is_passed_through() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/open")
        assert answer.headers["location"] == "/kennel/None/"


async def test_parts_of_the_path_the_request_and_features_are_given_by_name_and_type() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/rex")
        assert answer.text.startswith("rex GET ")


async def test_parts_are_filled_as_parameters_are_but_not_from_the_path() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/rex/owner")
        assert answer.text.startswith("rex None ")
        assert answer.text.endswith(" ()")


async def test_a_page_of_an_account_sends_visitors_to_the_login() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/own/account")
        assert (answer.status_code, answer.headers["location"]) == (302, "/login?next=/kennel")


async def test_nobody_may_keep_a_page_that_shows_a_secret() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/show/secret")
        assert answer.headers["cache-control"] == "no-store"


def test_a_page_says_where_it_runs() -> None:
    places = {route.path: route.endpoint for route in pages.make_routes()}  # type: ignore[attr-defined]
    found = declaration_of(places["/kennel"]), declaration_of(places["/kennel/{dog}"])
    assert [each.domain for each in found if each] == [Domain.THREAD, Domain.LOOP]


def test_a_page_takes_no_body() -> None:
    with pytest.raises(BadEndpoint, match="takes a Form"):

        @pages("POST /kennel/body", "nothing is loaded")
        async def post_body(body: bytes) -> Page:
            """Refused when it is declared."""
            return Page(body.decode())
