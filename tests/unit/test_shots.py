"""Pictures are taken of every page there is."""

from starlette.routing import Route

from rookery.server.app.routes import page_routes
from scripts.shots_of_farms import FOR_VISITORS, NO_PAGES, PAGES


def test_every_page_is_pictured() -> None:
    shown = [
        route
        for route in page_routes()
        if isinstance(route, Route)
        and "GET" in (route.methods or ())
        and route.path not in NO_PAGES
    ]
    # A game is named by its task and its number.
    paths = [page.partition("?")[0].replace("{game}", "0/0") for page in (*PAGES, *FOR_VISITORS)]
    missing = [each.path for each in shown if not any(map(each.path_regex.match, paths))]
    assert missing == []
