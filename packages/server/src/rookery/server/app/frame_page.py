"""What the frame of every page needs: static files, the theme, and robots.txt."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.server.boundary.domains import Domain
from rookery.server.http.faults import NotFound
from rookery.server.http.packing import takes_gzip
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Pages
from rookery.server.http.rendering import THEME_COOKIE, THEMES, Assets
from rookery.server.http.scope import is_local
from rookery.server.settings import Settings

YEAR_SECONDS = 31_536_000
_FOR_EVER = {"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"}
_FOR_A_DAY = {"cache-control": "public, max-age=86400"}
ICON = "rook.svg"

ROBOTS = """\
User-agent: *
Disallow: /api/
Disallow: /live
Disallow: /runs/*/
Disallow: /log
Disallow: /errors
Disallow: /ask
Disallow: /*?
"""
NO_ROBOTS = "User-agent: *\nDisallow: /\n"

pages = Pages()
routes = pages.make_routes


@pages("GET /static/{digest}/{name}", "bytes read at the start", where=Domain.LOOP)
async def get_asset(request: Request, digest: str, name: str, assets: Assets) -> Response:
    """A style sheet, script or picture of the pages."""
    found = assets.at(request.url.path)
    if found is None:
        raise NotFound
    headers = {**_FOR_EVER, "content-type": found.media_type}
    if not found.packed:
        return Response(found.content, headers=headers)
    headers["vary"] = "accept-encoding"
    if not takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(found.content, headers=headers)
    return Response(found.packed, headers={**headers, "content-encoding": "gzip"})


@pages("GET /theme", "sets a cookie", where=Domain.LOOP)
async def set_theme(request: Request, theme: str = "") -> Response:
    """Without scripts: keep the chosen theme for a year, and return to the page."""
    answer = redirect_to(_find_way_back(request))
    if theme in THEMES:
        answer.set_cookie(THEME_COOKIE, theme, max_age=YEAR_SECONDS, samesite="lax")
    else:
        answer.delete_cookie(THEME_COOKIE, samesite="lax")
    return answer


def _find_way_back(request: Request) -> str:
    """The page that the form was on, if the browser sends it and it is on this site."""
    base, place = str(request.base_url), request.headers.get("referer", "")
    path = "/" + place.removeprefix(base) if place.startswith(base) else "/"
    return path if is_local(path) else "/"


@pages("GET /robots.txt", "a constant", where=Domain.LOOP)
async def get_robots(settings: Settings) -> Response:
    """robots.txt: robots may read the pages of tests, but not filtered lists, pages that change
    every second, or anything of a closed site."""
    text = NO_ROBOTS if settings.login_to_view else ROBOTS
    return PlainTextResponse(text, headers=_FOR_A_DAY)


@pages("GET /favicon.ico", "bytes read at the start", where=Domain.LOOP)
async def get_icon(assets: Assets) -> Response:
    """The icon for clients that request it at the usual address without reading a page."""
    found = assets.at(assets.address(ICON))
    assert found is not None
    return Response(found.content, headers={**_FOR_A_DAY, "content-type": found.media_type})
