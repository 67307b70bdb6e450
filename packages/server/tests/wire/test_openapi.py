"""Whatever is made up from the OpenAPI document is answered as the document says."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.wire.app_under_test import KNOWN_TOKEN
from tests.wire.processes import Server

FEW = settings(
    max_examples=5,  # scripts/prove fuzz makes up thousands
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def document(server: Server) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{server.address}/openapi.json")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/api/echo"])
def test_the_server_keeps_to_its_description(document: schemathesis.BaseSchema, path: str) -> None:
    for found in document.include(path=path).get_all_operations():
        assert isinstance(found, Ok)

        @FEW
        @given(found.ok().as_strategy())
        def answers_as_described(case: "schemathesis.Case[Any]") -> None:
            case.call_and_validate(timeout=60)

        answers_as_described()


V1 = (
    "/api/v1/runs",
    "/api/v1/runs/preview",
    "/api/v1/runs/{run_id}",
    "/api/v1/runs/{run_id}/summary.txt",
    "/api/v1/runs/{run_id}/diagnosis",
    "/api/v1/runs/{run_id}/residuals",
    "/api/v1/runs/{run_id}/samples",
    "/api/v1/runs/{run_id}/bad_tasks",
    "/api/v1/runs/{run_id}/provenance",
    "/api/v1/runs/{run_id}/games",
    "/api/v1/runs/{run_id}/approve",
    "/api/v1/runs/{run_id}/withdraw",
    "/api/v1/runs/{run_id}/reopen",
    "/api/v1/runs/{run_id}/stop",
    "/api/v1/runs/{run_id}/modify",
    "/api/v1/runs/{run_id}/purge",
    "/api/v1/runs/{run_id}/delete",
    "/api/v1/runs/{run_id}/restore",
    "/api/v1/tasks",
    "/api/v1/workers",
    "/api/v1/workers/{worker}",
    "/api/v1/workers/{worker}/block",
    "/api/v1/workers/{worker}/unblock",
    "/api/v1/actions",
    "/api/v1/contributors",
    "/api/v1/games",
    "/api/v1/logs",
    "/api/v1/logs/{log_id}",
    "/api/v1/users",
    "/api/v1/users/{user}",
    "/api/v1/me",
    "/api/v1/tokens",
    "/api/v1/tokens/{token_id}",
    "/api/v1/engines",
    "/api/v1/engines/{name}",
    "/api/v1/teams",
    "/api/v1/teams/{team}",
    "/api/v1/teams/{team}/members/{user}",
    "/api/v1/binaries",
    "/api/v1/nets",
    "/api/v1/nets/{name}",
    "/api/v1/books",
    "/api/v1/books/{name}",
)


@pytest.mark.parametrize("path", V1)
def test_the_json_api_keeps_to_its_description(
    document: schemathesis.BaseSchema, path: str
) -> None:
    headers = {"Authorization": f"Bearer {KNOWN_TOKEN.secret}"}
    for found in document.include(path=path).get_all_operations():
        assert isinstance(found, Ok)

        @FEW
        @given(found.ok().as_strategy())
        def answers_as_described(case: "schemathesis.Case[Any]") -> None:
            # What has the right form may still be nonsense: odd games, an unknown commit.
            case.call_and_validate(
                timeout=60, headers=headers, excluded_checks=[positive_data_acceptance]
            )

        answers_as_described()
