"""Whatever is made up from the OpenAPI document is answered as the document says."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok

from tests.wire.processes import Server

FEW = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/api/echo"])
def test_the_server_keeps_to_its_description(server: Server, path: str) -> None:
    document = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    for found in document.include(path=path).get_all_operations():
        assert isinstance(found, Ok)

        @FEW
        @given(found.ok().as_strategy())
        def answers_as_described(case: "schemathesis.Case[Any]") -> None:
            case.call_and_validate(timeout=30)

        answers_as_described()
