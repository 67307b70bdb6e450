"""An endpoint is a typed function: how its parameters are filled, and what becomes of its value."""

import enum
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated

import httpx
import msgspec
import pytest
from msgspec import Meta
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.run import NotYours
from rookery.server.boundary.domains import Domain, declaration_of
from rookery.server.http.endpoint import (
    LOOP,
    THREAD,
    Answer,
    Endpoints,
    UnknownFeature,
    Work,
    check_features,
)
from rookery.server.http.openapi import operation_of
from rookery.server.http.query_values import Paging, Query
from rookery.server.http.scope import RequestInfo
from rookery.server.http.session import Session
from rookery.server.http.signatures import BadEndpoint, Features
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import ORDINARY, Scope, mint
from tests.fakes import HandClock
from tests.people import OLGA
from tests.twins.sites import MemorySite, make_site, open_site

pytestmark = pytest.mark.anyio

Function = Callable[..., Awaitable[object]]


class Cat(msgspec.Struct):
    """A cat."""

    name: str
    lives: int = 9


class Colour(enum.StrEnum):
    """How a cat looks."""

    BLACK = "black"
    WHITE = "white"


class Search(Query, frozen=True):
    colour: Colour = Colour.BLACK
    most: Annotated[int, Meta(ge=1, le=3)] = 2


Tag = Annotated[str, Meta(pattern=r"^[0-9]{4}\Z", extra={"form": "four digits"})]
Short = Annotated[str, Meta(max_length=5)]


class Kennel:
    """A feature that no app has."""


api = Endpoints("/api/cats")


@api("GET /{name}", LOOP, "a name")
async def get_cat(name: str) -> Cat:
    """A cat."""
    return Cat(name)


@api("GET /by-number/{number:int}", LOOP, "a number")
async def get_numbered(number: int) -> list[int]:
    """The next number."""
    return [number + 1]


@api("POST ", LOOP, "a body", status=201)
async def add_cat(cat: Cat) -> Cat:
    """Add a cat."""
    return cat


@api("POST /perhaps", LOOP, "a body", empty_body=True)
async def add_perhaps(wish: Paging, tag: Tag = "", cat: bytes = b"") -> list[object]:
    """Add bytes."""
    return [wish.first, tag, cat.decode()]


@api("POST /stream", LOOP, "pieces")
async def add_stream(pieces: AsyncIterator[bytes]) -> list[int]:
    """Count bytes."""
    return [sum([len(piece) async for piece in pieces])]


@api("GET /all/search", LOOP, "a query")
async def find_cats(
    search: Search,
    needed: Short,
    tag: Tag = "",
    young: bool | None = None,
    free: str = "free",
) -> list[object]:
    """Search."""
    return [search.colour, search.most, needed, tag, young, free]


@api("GET /all/raw", LOOP, "a query")
async def show_query(
    query: QueryParams, request: Request, info: RequestInfo, session: Session
) -> list[str]:
    """What there is of the request."""
    return [str(query), request.url.path, info.client, session.user]


@api("GET /all/feature", LOOP, "in memory")
async def tell_time(clock: Clock) -> str:
    """The time."""
    return clock.now().isoformat()


@api("GET /all/mine", LOOP, "asks who calls", scope=Scope.SUBMIT, headers={"x-cat": "yes"})
async def list_own(caller: Caller) -> str:
    """Your name."""
    return caller.user.name


@api("GET /all/seen", LOOP, "asks who calls")
async def list_seen(caller: Caller | None) -> str:
    """Your name, if you have one."""
    return caller.user.name if caller else "nobody"


@api("POST /all/person", LOOP, "asks who calls", in_person=True)
async def act_in_person(caller: Caller) -> str:
    """Your name."""
    return caller.user.name


@api("GET /all/fetched", LOOP, "asks who calls", for_workers=True)
async def fetch(caller: Caller | None) -> str:
    """Your name, if you have one."""
    return caller.user.name if caller else "nobody"


@api("GET /all/made", THREAD, "made in a thread")
async def make_cat() -> Work[Cat]:
    """A cat."""
    return lambda: Cat("made")


@api("PUT /all/answer", LOOP, "a constant", status=(200, 201))
async def put_cat() -> Answer[Cat]:
    """A cat with a status."""
    return Answer(Cat("new"), 201, {"x-tail": "long"})


@api("GET /all/response", LOOP, "a constant", media="text/cat")
async def send_cat() -> Response:
    """A cat as it is."""
    return PlainTextResponse("miau", 418)


@api("GET /all/refused", LOOP, "refuses")
async def refuse() -> Cat:
    """Not your cat."""
    raise NotYours


@pytest.fixture
async def cats() -> AsyncIterator[tuple[httpx.AsyncClient, MemorySite]]:
    site = make_site(clock=HandClock())
    async with open_site(site, *api.make_routes()) as opened:
        yield opened.browser, site


Cats = tuple[httpx.AsyncClient, MemorySite]


async def get(cats: Cats, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    answer = await cats[0].get(f"/api/cats/{path}", headers=dict(headers or {}))
    return answer.status_code, answer.text


async def token(cats: Cats, *scopes: Scope) -> dict[str, str]:
    site = cats[1]
    await site.users.add(OLGA)
    minted = mint("olga", frozenset(scopes), now=site.clock.now(), chance=secrets.token_bytes)
    await site.tokens.add(minted.token)
    return {"authorization": f"Bearer {minted.secret}"}


async def test_a_part_of_the_path_fills_the_parameter_of_its_name(cats: Cats) -> None:
    assert await get(cats, "Tom") == (200, '{"name":"Tom","lives":9}')
    assert await get(cats, "by-number/7") == (200, "[8]")


async def test_a_struct_is_read_from_the_body_and_the_status_is_the_declared_one(
    cats: Cats,
) -> None:
    answer = await cats[0].post("/api/cats", json={"name": "Kit", "lives": 7})
    assert (answer.status_code, answer.text) == (201, '{"name":"Kit","lives":7}')


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{}", "name: is missing"),
        (b"{", "the body is not JSON (Input data was truncated)"),
        (b'{"name":1}', "name: expected str, got int"),
        (b"", "the body is not JSON (Input data was truncated)"),
        (b"[]", "the body is not a JSON object"),
    ],
)
async def test_a_body_of_another_type_is_refused(cats: Cats, body: bytes, text: str) -> None:
    answer = await cats[0].post("/api/cats", content=body)
    assert answer.status_code == 400
    assert msgspec.json.decode(answer.content)["error"] == f"/api/cats: {text}"


async def test_a_body_can_be_taken_whole_or_in_pieces(cats: Cats) -> None:
    assert (
        await cats[0].post("/api/cats/perhaps?tag=1234", content=b"abc")
    ).text == '[0,"1234","abc"]'
    assert (await cats[0].post("/api/cats/stream", content=b"abc")).text == "[3]"


async def test_query_parameters_have_defaults_and_stand_alone_or_in_a_group(cats: Cats) -> None:
    assert await get(cats, "all/search?needed=x") == (200, '["black",2,"x","",null,"free"]')
    query = "needed=y&colour=white&most=3&tag=1234&young=true&free=air"
    assert await get(cats, f"all/search?{query}") == (200, '["white",3,"y","1234",true,"air"]')


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "needed: is missing"),
        ("needed=longer", "needed: expected a name"),
        ("needed=x&most=4", "most: expected an integer from 1 to 3"),
        ("needed=x&most=x", "most: expected an integer from 1 to 3"),
        ("needed=x&young=perhaps", "young: expected true or false"),
        ("needed=x&colour=red", "colour: expected one of black, white"),
        ("needed=x&tag=12", "expected four digits, not '12'"),
    ],
)
async def test_a_parameter_that_is_missing_or_of_another_type_is_refused(
    cats: Cats, query: str, text: str
) -> None:
    status, answer = await get(cats, f"all/search?{query}")
    assert status == 400
    assert msgspec.json.decode(answer)["error"] == f"/api/cats/all/search: {text}"


async def test_a_function_may_see_of_the_request_what_it_asks_for(cats: Cats) -> None:
    status, text = await get(cats, "all/raw?a=b")
    assert (status, msgspec.json.decode(text)[:2]) == (200, ["a=b", "/api/cats/all/raw"])


async def test_a_feature_is_found_by_its_type(cats: Cats) -> None:
    assert await get(cats, "all/feature") == (200, cats[1].clock.now().isoformat())


async def test_a_caller_needs_one_of_the_scopes(cats: Cats) -> None:
    assert (await get(cats, "all/mine"))[0] == 401
    assert await get(cats, "all/mine", await token(cats, Scope.SUBMIT)) == (200, "olga")


async def test_a_token_of_another_scope_is_told_which_one_it_takes(cats: Cats) -> None:
    status, text = await get(cats, "all/mine", await token(cats, Scope.READ))
    assert status == 403
    assert "it takes a token for submit." in text


async def test_where_anybody_may_ask_a_token_that_may_not_read_is_nobody(cats: Cats) -> None:
    assert await get(cats, "all/seen") == (200, "nobody")
    assert await get(cats, "all/seen", await token(cats, Scope.WORKER)) == (200, "nobody")
    assert (await get(cats, "all/seen", {"authorization": "Bearer rk_odd"}))[0] == 401


async def test_workers_may_fetch_where_that_is_declared(cats: Cats) -> None:
    assert await get(cats, "all/fetched", await token(cats, Scope.WORKER)) == (200, "olga")


async def test_no_token_stands_for_a_person(cats: Cats) -> None:
    headers = await token(cats, *ORDINARY)
    assert (await cats[0].post("/api/cats/all/person", headers=headers)).status_code == 403
    assert (await cats[0].post("/api/cats/all/person")).status_code == 401


async def test_a_value_may_be_made_in_a_thread(cats: Cats) -> None:
    assert await get(cats, "all/made") == (200, '{"name":"made","lives":9}')


async def test_a_value_may_bring_a_status_and_headers(cats: Cats) -> None:
    answer = await cats[0].put("/api/cats/all/answer")
    assert (answer.status_code, answer.headers["x-tail"]) == (201, "long")


async def test_a_response_goes_through_as_it_is(cats: Cats) -> None:
    assert await get(cats, "all/response") == (418, "miau")


async def test_headers_are_declared(cats: Cats) -> None:
    answer = await cats[0].get("/api/cats/all/mine", headers=await token(cats, Scope.SUBMIT))
    assert answer.headers["x-cat"] == "yes"


async def test_an_error_of_a_feature_is_answered_from_the_table(cats: Cats) -> None:
    status, text = await get(cats, "all/refused")
    assert status == 403
    assert "Only the run's owner or an approver may do this." in text


# What is refused when a module is imported or an app is made.


def declared(function: Function, place: str = "GET /x") -> Endpoints:
    endpoints = Endpoints()
    endpoints(place, LOOP, "for the test")(function)
    return endpoints


async def two_bodies(_cat: Cat, _other: Cat) -> Cat:
    """Two."""
    raise NotImplementedError


async def no_caller(_caller: Caller) -> Cat:
    """No scope."""
    raise NotImplementedError


async def silent() -> Cat:
    raise NotImplementedError


async def half_a_path() -> Cat:
    """No parameter."""
    raise NotImplementedError


async def odd(_value: dict[str, int]) -> Cat:
    """Nothing has such a type."""
    raise NotImplementedError


async def unsaid() -> Response:
    """No media type."""
    raise NotImplementedError


def plain() -> Cat:
    """No coroutine."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "place", "why"),
    [
        (two_bodies, "POST /x", "it has two bodies"),
        (no_caller, "GET /x", "it needs a caller, but declares no scope"),
        (silent, "GET /x", "it has no docstring"),
        (half_a_path, "GET /{name}", "no parameter takes name of its path"),
        (odd, "GET /x", "nothing can be given for _value"),
        (unsaid, "GET /x", "a Response needs the type of its media"),
        (plain, "GET /x", "it is no coroutine function"),
    ],
)
def test_a_function_that_can_not_be_served_is_refused_at_once(
    function: Function, place: str, why: str
) -> None:
    with pytest.raises(BadEndpoint, match=why):
        declared(function, place)


async def ask_kennel(_kennel: Kennel) -> Cat:
    """Nobody has a kennel."""
    raise NotImplementedError


def test_an_app_without_a_feature_that_is_asked_for_does_not_start() -> None:
    routes = declared(ask_kennel).make_routes()
    with pytest.raises(UnknownFeature, match="/x wants Kennel"):
        check_features(routes, Features(make_site(), {Threads: "threads"}))


# What reads the declaration.


def endpoint_at(path: str) -> object:
    (found,) = [each for each in api.make_routes() if isinstance(each, Route) and each.path == path]
    return found.endpoint


def test_the_document_is_made_from_the_signature() -> None:
    operation = operation_of(endpoint_at("/api/cats/all/search"))
    assert operation is not None
    assert operation.summary == "Search"
    assert operation.query == {
        "colour": Colour,
        "most": Annotated[int, Meta(ge=1, le=3)],
        "needed": Short,
        "tag": Tag,
        "young": bool,
        "free": str,
    }


def test_the_document_says_who_may_call_and_what_comes_back() -> None:
    mine, put = operation_of(endpoint_at("/api/cats/all/mine")), endpoint_at("/api/cats/all/answer")
    assert mine is not None
    assert (mine.bearer, mine.answers) == (True, {200: "text/plain; charset=utf-8"})
    answer = operation_of(put)
    assert answer is not None
    assert answer.answers == {200: Cat, 201: Cat}


def test_the_inventory_reads_the_declaration() -> None:
    declaration = declaration_of(endpoint_at("/api/cats/all/made"))
    assert declaration is not None
    assert (declaration.domain, declaration.why) == (Domain.THREAD, "made in a thread")
