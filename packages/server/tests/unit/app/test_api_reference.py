"""The reference of the API, made from a small document."""

import enum
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rookery.server.app.api_reference.page import describe_schema, group_endpoints
from rookery.server.http.openapi import Operation, described, make_openapi


class Wish(msgspec.Struct):
    """What is asked for."""

    title: str
    share: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    more: dict[str, str] = {}


class Period(enum.StrEnum):
    """How far back."""

    ALL = "all"
    MONTH = "month"


class Granted(msgspec.Struct):
    """What comes of it."""

    wishes: tuple[Wish, ...]


@described(
    Operation("Ask", {201: Granted}, body=Wish, path={"run_id": str}, query={"n": int}, bearer=True)
)
async def ask(_request: Request) -> Response:
    raise NotImplementedError


@described(
    Operation(
        "List", {200: Granted}, query={"run": str, "task": int, "period": Period, "page": int}
    )
)
async def list_them(_request: Request) -> Response:
    raise NotImplementedError


def document(*routes: Route) -> Mapping[str, Any]:
    made: Mapping[str, Any] = msgspec.json.decode(make_openapi(routes))
    return made


def asking() -> Mapping[str, Any]:
    return document(Route("/api/v1/runs/{run_id}/ask", ask, methods=["POST"]))


def test_an_endpoint_is_shown_with_what_it_takes_and_gives() -> None:
    ((title, (endpoint,)),) = group_endpoints(asking())
    assert (title, endpoint.method, endpoint.access) == ("Tests", "POST", "Requires a token")
    assert [(name, kind.text, needed) for name, kind, needed, _ in endpoint.parameters] == [
        ("run_id", "text", True),
        ("n", "whole number", False),
    ]
    assert [(code, kind.schema) for code, kind in endpoint.answers] == [("201", "Granted")]


def test_the_example_sends_what_is_needed_and_no_more() -> None:
    ((_, (endpoint,)),) = group_endpoints(asking())
    assert endpoint.curl == (
        'curl -H "Authorization: Bearer $TOKEN" -X POST'
        " -H 'Content-Type: application/json' -d '{\"title\":\"text\"}'"
        " $ROOKERY/api/v1/runs/RUN_ID/ask"
    )


def test_the_example_says_in_its_query_what_it_is_about() -> None:
    read = document(Route("/api/v1/games", list_them, methods=["GET"]))
    ((_, (endpoint,)),) = group_endpoints(read)
    assert endpoint.curl == 'curl "$ROOKERY/api/v1/games?run=RUN&task=1&period=all"'


def test_a_type_is_shown_with_its_fields_in_words() -> None:
    schemas = asking()["components"]["schemas"]
    _, text, rows, _ = describe_schema("Wish", schemas["Wish"])
    assert text == "What is asked for."
    fields = [(name, kind.text, note) for name, kind, _, note in rows]
    assert fields == [
        ("title", "text", ""),
        ("share", "number", "default 1.0"),
        ("more", "object of text", ""),
    ]
    _, _, ((_, kind, _, _),), _ = describe_schema("Granted", schemas["Granted"])
    assert kind.schema == "Wish"
