"""A page is a typed function: who sees it, what fills it, and what becomes of its value."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.server.boundary.domains import Domain, declaration_of
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import BadEndpoint, Parts
from rookery.server.identity.users import User, Users
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


@pages("GET /kennel/{dog}/food", "nothing is loaded", back="/kennel/{dog}")
async def show_food(viewer: Actor, dog: str) -> Response:
    """What a dog eats."""
    raise AssertionError(f"{viewer} sees {dog}")


@dataclass(frozen=True, slots=True)
class KennelParts(Parts):
    """What several functions of a page need."""

    users: Users
    clock: Clock


@pages("GET /kennel/{dog}/parts", "nothing is loaded")
async def show_parts(dog: str, parts: KennelParts) -> Page:
    """A page that no browser keeps."""
    text = f"{type(parts.users).__name__} {parts.clock.now():%Y} {dog}"
    shown = {"status": 200, "title": "Parts", "text": text, "request_id": ""}
    return Page("error.html", shown, headers={"cache-control": "no-store"})


@dataclass(frozen=True, slots=True)
class OwnerParts(Parts):
    """Who may be asked for more than once."""

    owner: User | None
    form: Form


@pages("GET /kennel/own/account", "nothing is loaded")
async def show_account(parts: OwnerParts, owner: User, again: OwnerParts) -> Page:
    """The account of whoever is logged in."""
    raise AssertionError(f"{parts} {owner} {again}")


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


async def test_the_names_in_an_address_are_in_the_one_after_the_login() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/a%26b/food")
        assert answer.headers["location"] == "/login?next=/kennel/a%2526b"


async def test_parameters_can_be_given_as_a_group_and_a_page_has_headers_of_its_own() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/rex/parts")
        assert answer.headers["cache-control"] == "no-store"
        assert "Users" in answer.text
        assert " rex" in answer.text


async def test_one_part_of_a_page_that_needs_the_account_sends_visitors_to_the_login() -> None:
    async with visitor() as client:
        answer = await client.get("/kennel/own/account")
        assert (answer.status_code, answer.headers["location"]) == (302, "/login?next=/kennel")


def test_a_page_asks_for_one_kind_of_viewer() -> None:
    with pytest.raises(BadEndpoint, match="two kinds of callers"):

        @pages("GET /kennel/both", "nothing is loaded")
        async def show_both(parts: OwnerParts, viewer: Actor) -> Page:
            """Refused when it is declared."""
            raise AssertionError(f"{parts} {viewer}")


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
