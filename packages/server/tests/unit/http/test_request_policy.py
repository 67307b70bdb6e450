"""What a request may be, by its head alone."""

import pytest

from rookery.server.http.request_policy import HEAD_TOO_LARGE, Headers, encode_refusal, why_refused

HOST = (b"host", b"localhost")


def status_of(
    *headers: tuple[bytes, bytes],
    version: str = "1.1",
    method: bytes = b"POST",
    target: bytes = b"/",
    upgrades: bool = False,
) -> int | None:
    refusal = why_refused(version, method, target, headers, upgrades=upgrades)
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    "headers",
    [
        [HOST],
        [HOST, (b"transfer-encoding", b"Chunked")],
        [HOST, (b"content-length", b"5")],
        [HOST, (b"upgrade", b"foo")],
    ],
)
def test_an_ordinary_request_is_accepted(headers: Headers) -> None:
    assert status_of(*headers) is None


def test_an_old_request_needs_no_host() -> None:
    assert status_of(version="1.0") is None


@pytest.mark.parametrize("version", ["0.9", "1.2", "2.0", "3.0"])
def test_other_versions_are_not_spoken(version: str) -> None:
    assert status_of(HOST, version=version) == 505


def test_nothing_is_upgraded_or_tunnelled() -> None:
    assert status_of(HOST, upgrades=True) == 400
    assert status_of(HOST, method=b"CONNECT", target=b"a:1", upgrades=True) == 501


@pytest.mark.parametrize("target", [b"/#", b"/a#b", b"http://localhost/a#b"])
def test_a_fragment_is_no_part_of_an_address(target: bytes) -> None:
    assert status_of(HOST, target=target) == 400


def test_one_host_is_named() -> None:
    assert status_of() == 400
    assert status_of(HOST, HOST) == 400


@pytest.mark.parametrize(
    ("codings", "status"),
    [
        ([b"gzip, chunked"], 501),
        ([b"chunked", b"chunked"], 501),
        ([b"identity"], 501),
        ([b"chunked, identity"], 501),
    ],
)
def test_a_body_comes_plain_or_in_chunks(codings: list[bytes], status: int) -> None:
    assert status_of(HOST, *((b"transfer-encoding", each) for each in codings)) == status


def test_an_old_request_has_no_chunks() -> None:
    assert status_of(HOST, (b"transfer-encoding", b"chunked"), version="1.0") == 400


def test_a_refusal_is_the_last_answer_of_its_connection() -> None:
    answer = encode_refusal(HEAD_TOO_LARGE, [(b"date", b"today")])
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\ndate: today\r\n")
    assert head.endswith(b"content-length: %d\r\nconnection: close" % len(body))
