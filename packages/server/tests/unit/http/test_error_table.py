"""The table from errors to answers."""

import pytest
from starlette.exceptions import HTTPException

from rookery.core.boundary.errors import GateFull, Overloaded
from rookery.core.model.run import BadGameCount, NotYours
from rookery.core.protocol.codec import TooDeep
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.views import UnknownRun
from rookery.server.files.store import FileRefused, QuotaExceeded
from rookery.server.http.error_table import (
    REFUSALS,
    REFUSED,
    TABLE,
    ShownRefusal,
    describe_refusal,
    fault_in,
    shape_of,
    text_of,
)
from rookery.server.http.faults import (
    BadHost,
    CsrfRefused,
    DatabaseAway,
    HttpFault,
    MalformedForm,
    MethodNotAllowed,
    NotFound,
)
from rookery.server.identity.bearers import OwnerRefused, TokenRefused
from rookery.server.identity.login import Throttled, WrongCredentials
from rookery.server.identity.users import (
    AccountConflict,
    Malformed,
    NotPermitted,
    UnknownToken,
    UnknownUser,
)
from rookery.server.teams.teams import TeamExists


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


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        (TooDeep(), ShownRefusal("the body is nested too deeply", 400)),
        (UnknownRun(run="7"), ShownRefusal("There is no run 7.", 404)),
        (NotYours(), ShownRefusal("Only the run's owner or an approver may do this.", 403)),
        (
            BadGameCount(step=2, most=8),
            ShownRefusal("The number of games must be a multiple of 2 from 0 to 8.", 400),
        ),
        (FileRefused("It is no net."), ShownRefusal("It is no net.", 400)),
        (UnknownUser("ida"), ShownRefusal("There is no user named ida.", 404)),
        (UnknownToken("7"), ShownRefusal("There is no token 7.", 404)),
        (Malformed("It is no name."), ShownRefusal("It is no name.", 400)),
        (AccountConflict("It waits."), ShownRefusal("It waits.", 409)),
        (NotPermitted("You may not."), ShownRefusal("You may not.", 403)),
        (Throttled(), ShownRefusal("Too many attempts; wait a little.", 429)),
        (NotFound("There is no such page."), ShownRefusal("There is no such page.", 404)),
    ],
)
def test_what_a_feature_refuses_is_a_sentence_with_a_status(
    error: Exception, refusal: ShownRefusal
) -> None:
    assert isinstance(error, REFUSALS)
    assert describe_refusal(error) == refusal


def test_an_upload_beyond_the_quota_is_too_large() -> None:
    error = QuotaExceeded(used=1, size=2, allowed=3)
    assert describe_refusal(error) == ShownRefusal(str(error), 413)


def test_an_error_without_a_line_of_its_own_has_that_of_its_base_class() -> None:
    assert TeamExists not in TABLE
    assert shape_of(TeamExists(name="gulls")).status == 409


def test_a_token_that_does_not_count_asks_for_another_one() -> None:
    for error in (TokenRefused(), WrongCredentials()):
        shape = shape_of(error)
        assert (shape.status, shape.headers) == (401, {"www-authenticate": "Bearer"})
    assert shape_of(OwnerRefused()).status == 403


def test_whoever_catches_refusals_misses_none() -> None:
    assert all(issubclass(kind, REFUSALS) for kind in REFUSED)
    assert not isinstance(ZeroDivisionError(), REFUSALS)
