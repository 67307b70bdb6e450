"""Bad input gets a clear refusal in the right shape, and a log line."""

from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from rookery.server.http.scope import PROBE_PATHS
from rookery.server.http.session import COOKIE
from tests.twins.sites import open_site
from tests.wire.slow_routes import slow_routes

pytestmark = pytest.mark.anyio


class ErrorAnswer(msgspec.Struct, forbid_unknown_fields=True):
    error: str
    duration: float
    detail: str = ""


def error_in(answer: httpx.Response) -> ErrorAnswer:
    assert answer.headers["content-type"] == "application/json"
    return msgspec.json.decode(answer.content, type=ErrorAnswer)


@pytest.mark.parametrize(
    "cookie", ["tampered.abc.def", "x" * 3700, "x" * 9000, "eyJ1IjoiYWRhIn0.aaaaaa.bbbbbb", '"']
)
async def test_a_bad_cookie_is_an_empty_session_and_a_log_line(cookie: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get("/", headers={"cookie": f"{COOKIE}={cookie}"})
        assert answer.status_code == 200
        assert "Log in" in answer.text
        assert f"{COOKIE}=; " in answer.headers["set-cookie"]
        assert site.log.fields("session_refused")["client"] == "192.0.2.7"


async def test_an_unknown_page_is_a_page_that_names_the_request() -> None:
    async with open_site() as site:
        answer = await site.browser.get("/nowhere")
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["x-request-id"] in answer.text
        assert site.log.fields("request_refused")["path"] == "/nowhere"


async def test_an_unknown_api_path_is_json_as_scripts_expect() -> None:
    async with open_site() as site:
        answer = await site.browser.get("/api/nowhere")
        assert answer.status_code == 404
        error = error_in(answer)
        assert error.error == "/api/nowhere: There is nothing at this address."
        assert error.detail == "Not Found"


async def test_a_wrong_method_names_the_right_ones() -> None:
    async with open_site() as site:
        answer = await site.browser.get("/logout")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"
        assert site.log.fields("request_refused")["why"] == "MethodNotAllowed"


@pytest.mark.parametrize(("path", "status"), [("/", 405), ("/nowhere", 404)])
async def test_a_wrong_post_is_not_taken_for_a_bad_form(path: str, status: int) -> None:
    async with open_site() as site:
        assert (await site.browser.post(path)).status_code == status


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "NotJson"),
        (b"{", "NotJson"),
        (b"\xff\xfe", "NotJson"),
        (b'{"name":"x"}\0', "NotJson"),
        (b'{"x":' + b"[" * 60_000, "TooDeep"),
    ],
)
async def test_malformed_json_is_told_so(body: bytes, why: str) -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.post("/api/echo", content=body)
        assert answer.status_code == 400
        assert error_in(answer).error.startswith("/api/echo: the body is ")
        assert site.log.fields("request_refused")["why"] == why


async def test_json_of_the_wrong_form_is_told_where() -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.post("/api/echo", json={"name": "x", "count": "many"})
        assert answer.status_code == 400
        assert error_in(answer).error.startswith("/api/echo: count: ")


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"x-big": "x" * 40_000}, "HeadersTooLarge"),
        ({f"x-{number}": "x" for number in range(200)}, "HeadersTooLarge"),
    ],
)
async def test_huge_headers_are_refused(headers: dict[str, str], why: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get("/", headers=headers)
        assert answer.status_code == 431
        assert site.log.fields("request_refused")["why"] == why


@pytest.mark.parametrize("host", ["evil.example", "", "localhost, evil.example", "a b"])
async def test_a_forged_host_is_refused(host: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get("/", headers={"host": host})
        assert answer.status_code == 400
        assert "evil" not in answer.text
        assert site.log.fields("request_refused")["why"] == "BadHost"


@pytest.mark.parametrize("path", sorted(PROBE_PATHS))
async def test_a_probe_may_use_whatever_name_leads_here(path: str) -> None:
    """Proxies and Prometheus ask by the names of their own network."""
    async with open_site() as site:
        answer = await site.browser.get(path, headers={"host": "instance-7:8000"})
        assert answer.status_code == 200


async def test_a_forged_host_never_makes_a_worker_give_up() -> None:
    async with open_site() as site:
        answer = await site.browser.post("/api/request_version", headers={"host": "evil.example"})
        assert answer.status_code == 400
        assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/%00", "/a%00b", "/%ff", "/%zz", "/%", "/?q=%00"])
async def test_addresses_that_are_none_are_refused(path: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get(path)
        assert answer.status_code == 400
        assert site.log.fields("request_refused")["why"] == "BadPath"


async def test_a_long_address_is_refused() -> None:
    async with open_site() as site:
        assert (await site.browser.get("/" + "x" * 9000)).status_code == 414


async def test_a_large_body_is_refused_before_it_is_read() -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.post("/api/echo", content=b"x" * 1_100_000)
        assert answer.status_code == 413
        assert error_in(answer).duration >= 0


async def test_a_large_body_in_pieces_is_refused_while_it_comes() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.post("/api/echo", content=pieces())
        assert answer.status_code == 413


async def test_a_mistake_of_ours_is_named_but_not_shown() -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.get("/slow/fail")
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["x-request-id"] in answer.text
        line = site.log.fields("request_failed")
        assert line["request"] == answer.headers["x-request-id"]
        assert isinstance(line["exc_info"], ZeroDivisionError)


async def test_an_api_path_with_a_trailing_slash_is_not_redirected() -> None:
    async with open_site(None, *slow_routes()) as site:
        assert (await site.browser.post("/api/echo/", json={})).status_code == 404
