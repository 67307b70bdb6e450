"""The OpenAPI document is made from the types of the routes."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rookery.server.http.openapi import Operation, described, make_openapi, operation_id


class Cat(msgspec.Struct):
    """A cat."""

    name: str


@described(Operation("Change a cat", {200: Cat}, body=Cat, path={"id": int}, query={"dry": bool}))
async def change_cat(_request: Request) -> Response:
    return Response()


async def undescribed(_request: Request) -> Response:
    return Response()


def made() -> dict[str, object]:
    routes = [Route("/cats/{id:int}", change_cat, methods=["POST"]), Route("/x", undescribed)]
    return msgspec.json.decode(make_openapi(routes), type=dict[str, object])


def test_a_described_route_is_listed_with_its_types() -> None:
    entry = msgspec.to_builtins(made()["paths"])["/cats/{id}"]["post"]
    reference = {"$ref": "#/components/schemas/Cat"}
    assert entry["summary"] == "Change a cat"
    assert entry["requestBody"]["content"]["application/json"]["schema"] == reference
    assert [parameter["name"] for parameter in entry["parameters"]] == ["id", "dry"]


def test_the_types_are_defined_once() -> None:
    assert list(msgspec.to_builtins(made()["components"])["schemas"]) == ["ErrorBody", "Cat"]


def test_pages_are_not_listed() -> None:
    assert list(msgspec.to_builtins(made()["paths"])) == ["/cats/{id}"]


def test_every_operation_has_a_name_that_a_generated_client_can_call() -> None:
    assert operation_id("GET", "/api/v1/runs/{run_id}/summary.txt") == (
        "get_runs_by_run_id_summary_txt"
    )
    entry = msgspec.to_builtins(made()["paths"])["/cats/{id}"]["post"]
    assert entry["operationId"] == "post_cats_by_id"
