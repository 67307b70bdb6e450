"""A connection's bytes are cut so that no piece holds the end of one request and the next one."""

import random
from collections.abc import Iterator

import pytest

from rookery.server.carriers.message_pieces import PIECE_BYTES, MessagePieces

HEAD = b"POST / HTTP/1.1\r\nhost: a\r\n"
REQUESTS: tuple[tuple[bytes, int], ...] = (
    (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", 0),
    (HEAD + b"content-length: 12\r\n\r\n\r\n\r\nx\r\n\r\n\r\n\r", 12),
    (HEAD + b"content-length: 3\r\n\r\nabc", 3),
    (HEAD + b"transfer-encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n", 0),
    (HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\na: b\r\n\r\n", 0),
    (HEAD + b"x: " + b"y" * 2 * PIECE_BYTES + b"\r\n\r\n", 0),
)


def cut(requests: list[tuple[bytes, int]], reads: Iterator[int]) -> list[bytes]:
    """The pieces of a stream of requests that arrives in reads of these sizes, joined by request; a
    piece that reaches into the next request is an error."""
    stream, pieces = b"".join(request for request, _ in requests), MessagePieces()
    ends, place = [], 0
    for request, _ in requests:
        place += len(request)
        ends.append(place)
    at = begun = number = 0
    while at < len(stream):
        data, start = stream[at : at + next(reads)], 0
        while start < len(data):
            piece = pieces.take(data, start)
            assert piece
            start += len(piece)
            done = at + start
            assert done <= ends[number], (requests[number], piece)
            request, length = requests[number]
            if length and done - begun == len(request) - length:
                pieces.expect(length)
            if done == ends[number]:
                begun, number = done, number + 1
        at += len(data)
    return [request for request, _ in requests[:number]]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 50, 100_000])
def test_no_piece_reaches_into_the_next_request(size: int) -> None:
    requests = [*REQUESTS, *reversed(REQUESTS)]
    assert len(cut(requests, iter(lambda: size, None))) == len(requests)


@pytest.mark.parametrize("seed", range(50))
def test_however_the_requests_arrive(seed: int) -> None:
    chance = random.Random(seed)
    requests = chance.choices(REQUESTS, k=20)
    reads = iter(lambda: chance.choice((1, 2, 3, 5, 17, 80, 300, 50_000)), None)
    assert len(cut(requests, reads)) == len(requests)


def test_a_body_with_a_length_is_one_piece() -> None:
    pieces = MessagePieces()
    pieces.expect(100_000)
    body = b"\r\n" * 50_000
    assert pieces.take(body + b"GET /", 0) == body


def test_what_has_no_end_comes_in_small_pieces() -> None:
    assert len(MessagePieces().take(b"x" * 100_000, 0)) == PIECE_BYTES
