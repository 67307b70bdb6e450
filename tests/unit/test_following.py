"""Following a run: what comes in, and what happens when the server goes away."""

from collections.abc import Iterator

import msgspec
import pytest

from rookery.core.client.following import Following, Sent, events_in
from rookery.core.http_failures import CallFailed, CallRefused, NoAnswer
from rookery.server.farm.views import NO_SPEED
from rookery.server.runs.api import make_details
from tests.makers import make_run

RUN = make_run("a")
DATA = msgspec.json.encode(make_details(RUN, NO_SPEED))
AWAY = NoAnswer("http://here is gone.")


def event(number: int) -> list[bytes]:
    return [b"id: %d\n" % number, b"event: run\n", b"data: " + DATA + b"\n", b"\n"]


class Script:
    """A server that does as the test says, one connection after the other."""

    server = "http://here"

    def __init__(self, *answers: list[bytes] | Exception) -> None:
        self._answers = iter(answers)
        self.asked: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.pauses: list[float] = []

    def lines(self, path: str, after: str, seconds: float) -> Iterator[bytes]:
        del seconds
        self.asked.append((path, after))
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        yield from answer

    def following(self) -> Iterator[object]:
        return iter(Following(self, RUN.id, away=self.problems.append, sleep=self.pauses.append))


def test_blocks_are_read_and_comments_are_not() -> None:
    lines = [b"retry: 2000\r\n", b"\r\n", b":\n", b"\n", *event(7), b"id: 8\n", b"\n", b"id: 9\n"]
    assert list(events_in(lines)) == [Sent("run", DATA, "7"), Sent("", b"", "8")]


def test_it_goes_on_where_it_was_when_the_server_comes_back() -> None:
    script = Script(event(7), AWAY, AWAY, CallRefused("stopping", 503), event(9))
    following = script.following()
    assert next(following) == next(following)
    assert [after for _, after in script.asked] == ["", "7", "7", "7", "7"]
    assert script.pauses == [0.5, 1.0, 2.0, 4.0]
    assert len(script.problems) == 4


def test_a_server_that_was_never_there_is_a_problem() -> None:
    with pytest.raises(NoAnswer):
        next(Script(AWAY).following())


def test_what_is_refused_for_good_is_a_problem() -> None:
    script = Script(event(7), CallRefused("The server refuses (404)", 404))
    following = script.following()
    next(following)
    with pytest.raises(CallRefused, match="404"):
        next(following)


def test_what_is_no_run_is_a_problem() -> None:
    with pytest.raises(CallFailed, match="not a Rookery server"):
        next(Script([b"event: run\n", b"data: {}\n", b"\n"]).following())
