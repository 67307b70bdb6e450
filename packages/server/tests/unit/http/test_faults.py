"""The table from errors to answers."""

import pytest
from starlette.exceptions import HTTPException

from rookery.core.boundary.errors import GateFull, Overloaded
from rookery.server.farm.primary import Rebuilding
from rookery.server.http.error_table import TABLE, fault_in, shape_of, text_of
from rookery.server.http.faults import (
    BadHost,
    CsrfRefused,
    DatabaseAway,
    HttpFault,
    MalformedForm,
    MethodNotAllowed,
    NotFound,
)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MalformedForm(), 400),
        (BadHost(), 400),
        (CsrfRefused(), 403),
        (NotFound(), 404),
        (Overloaded("hash"), 503),
        (GateFull("tasks"), 503),
        (DatabaseAway(), 503),
        (Rebuilding(), 503),
        (ZeroDivisionError(), 500),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int) -> None:
    assert shape_of(error).status == status


def test_every_fault_has_a_sentence_for_the_client() -> None:
    faults = [kind for kind in TABLE if issubclass(kind, HttpFault)]
    assert all(str(kind()).endswith(".") for kind in faults)


def test_an_unexpected_error_tells_nothing_of_the_inside() -> None:
    assert "secret" not in text_of(ZeroDivisionError("a secret"))
    assert "hash" not in text_of(Overloaded("hash"))


def test_the_frameworks_refusals_become_ours_with_their_headers() -> None:
    fault, headers = fault_in(HTTPException(405, headers={"Allow": "POST"}))
    assert isinstance(fault, MethodNotAllowed)
    assert headers == {"Allow": "POST"}


def test_a_framework_refusal_keeps_its_own_words() -> None:
    fault, _ = fault_in(HTTPException(404, "No such run."))
    assert str(fault) == "No such run."


def test_an_unknown_host_is_worth_another_try_for_a_worker() -> None:
    assert shape_of(BadHost()).retry
    assert not shape_of(MalformedForm()).retry
