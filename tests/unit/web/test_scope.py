"""Who a path is for, and where a visitor may be sent."""

import pytest

from rookery.web.scope import WORKER_PATHS, Audience, audience_of, is_local


def test_there_are_nine_worker_paths() -> None:
    assert len(WORKER_PATHS) == 9


@pytest.mark.parametrize(
    ("path", "audience"),
    [
        ("/api/beat", Audience.WORKER),
        ("/api/beat/", Audience.PROGRAM),
        ("/api", Audience.PROGRAM),
        ("/healthz", Audience.PROGRAM),
        ("/", Audience.PERSON),
        ("/apiary", Audience.PERSON),
    ],
)
def test_the_path_tells_who_asks(path: str, audience: Audience) -> None:
    assert audience_of(path) is audience


@pytest.mark.parametrize("path", ["/", "/tests?page=2", "/a/b#c"])
def test_places_on_this_site_are_local(path: str) -> None:
    assert is_local(path)


@pytest.mark.parametrize(
    "path",
    ["", "tests", "//evil.example", "/\\evil.example", "https://x.example", "/a\nb", "/é"],
)
def test_anything_a_browser_might_take_elsewhere_is_not(path: str) -> None:
    assert not is_local(path)
