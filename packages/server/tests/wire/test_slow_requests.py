"""Clients that begin a request and do not go on, on the wire of a real server."""

from collections.abc import Iterator

import pytest

from tests.wire.processes import Server, read_to_end, running_server

HALF_A_HEAD = b"POST /api/echo HTTP/1.1\r\nhost: local"
REST_OF_IT = b"host\r\nconnection: close\r\ncontent-length: 15\r\n\r\n"
HALF_A_BODY, REST_OF_THAT = b'{"name":', b' "ada"}'
PATIENT_SECONDS = "30"
# Enough for what is sent at once even where the machine is busy.
SHORT_SECONDS = "2"


@pytest.fixture(scope="module")
def hurried_about_heads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"HEAD_SECONDS": SHORT_SECONDS, "BODY_SECONDS": PATIENT_SECONDS}
    with running_server(tmp_path_factory.mktemp("heads"), settings=settings) as started:
        yield started


@pytest.fixture(scope="module")
def hurried_about_bodies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"HEAD_SECONDS": PATIENT_SECONDS, "BODY_SECONDS": SHORT_SECONDS}
    with running_server(tmp_path_factory.mktemp("bodies"), settings=settings) as started:
        yield started


def is_given_up(answer: bytes) -> bool:
    """uvicorn closes without a word, the other server says why."""
    return answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_does_not_come_is_given_up(hurried_about_heads: Server) -> None:
    assert is_given_up(hurried_about_heads.exchange(HALF_A_HEAD))
    hurried_about_heads.until_logged("request_never_came")


def test_a_client_that_says_nothing_is_let_go(hurried_about_heads: Server) -> None:
    assert is_given_up(hurried_about_heads.exchange(b""))


def test_a_body_that_does_not_come_is_given_up(hurried_about_bodies: Server) -> None:
    assert is_given_up(hurried_about_bodies.exchange(HALF_A_HEAD + REST_OF_IT + HALF_A_BODY))
    hurried_about_bodies.until_logged("request_never_came")


def test_the_time_of_the_head_is_not_that_of_the_body(hurried_about_heads: Server) -> None:
    with hurried_about_heads.connect() as early:
        early.sendall(HALF_A_HEAD + REST_OF_IT + HALF_A_BODY)
        # Who came later and has not even sent a head is given up first.
        assert is_given_up(hurried_about_heads.exchange(HALF_A_HEAD))
        early.sendall(REST_OF_THAT)
        assert read_to_end(early).startswith(b"HTTP/1.1 200 ")


def test_the_time_of_the_body_is_not_that_of_the_head(hurried_about_bodies: Server) -> None:
    with hurried_about_bodies.connect() as early:
        early.sendall(HALF_A_HEAD)
        assert is_given_up(hurried_about_bodies.exchange(HALF_A_HEAD + REST_OF_IT + HALF_A_BODY))
        early.sendall(REST_OF_IT + HALF_A_BODY + REST_OF_THAT)
        assert read_to_end(early).startswith(b"HTTP/1.1 200 ")
