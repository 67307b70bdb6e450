"""Which server carries HTTP, and what is said where the wished for one can't."""

import sys
from types import ModuleType

import pytest

from rookery.server.carriers.on_rookery_asgi import NOT_INSTALLED
from rookery.server.carriers.server import choose_backend


class KeptLog:
    """Keeps the events with a reason."""

    def __init__(self) -> None:
        self.reasons: list[tuple[str, object]] = []

    def debug(self, event: str, /, **fields: object) -> None:
        self.reasons.append((event, fields.get("why")))

    info = warning = error = debug


def test_uvicorn_is_what_serves_by_default() -> None:
    log = KeptLog()
    assert choose_backend("uvicorn", log).name == "uvicorn"
    assert log.reasons == []


def test_without_the_other_server_one_sentence_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rookery_asgi", None)
    log = KeptLog()
    assert choose_backend("rookery-asgi", log).name == "uvicorn"
    assert log.reasons == [("serving_with_uvicorn", NOT_INSTALLED)]


def test_where_the_other_server_can_not_run_its_reason_is_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = ModuleType("rookery_asgi")
    monkeypatch.setattr(broken, "unavailable", lambda: "Its core was not built.", raising=False)
    monkeypatch.setitem(sys.modules, "rookery_asgi", broken)
    log = KeptLog()
    assert choose_backend("rookery-asgi", log).name == "uvicorn"
    assert log.reasons == [("serving_with_uvicorn", "Its core was not built.")]
