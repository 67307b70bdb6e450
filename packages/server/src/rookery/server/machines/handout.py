"""Serves `/worker/`: the wheel for workers and the script that installs it."""

import html
import re
from functools import cache

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from rookery.server.boundary.domains import Domain
from rookery.server.http.answers import address_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.pages import Pages
from rookery.server.http.scope import HANDOUT_PREFIX
from rookery.server.machines.wheel import Wheel, find_packages

SCRIPT = "install.sh"
# Characters of an address that are safe between quotes in the script.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]/~-]+")


pages = Pages()
routes = pages.make_routes


@pages(f"GET {HANDOUT_PREFIX}", "a few lines from memory", where=Domain.LOOP)
async def list_wheels(wheel: Wheel) -> Response:
    """The list of wheels, as a page that pip's --find-links can also read."""
    name = html.escape(wheel.name)
    link = f'<a href="{HANDOUT_PREFIX}{name}#sha256={wheel.sha256}">{name}</a>'
    return HTMLResponse(f"<!DOCTYPE html><title>rookery</title>{link}\n")


@pages(f"GET {HANDOUT_PREFIX}{{name}}", "bytes read at the start", where=Domain.LOOP)
async def get_handout(request: Request, wheel: Wheel, name: str) -> Response:
    """The wheel, or the script that installs it."""
    if not wheel.name:
        raise NotFound
    if name == wheel.name:
        headers = {"etag": f'"{wheel.sha256}"', "cache-control": "no-cache"}
        return Response(wheel.content, media_type="application/zip", headers=headers)
    if name != SCRIPT:
        raise NotFound
    return PlainTextResponse(make_script(wheel, address_of(request)))


def make_script(wheel: Wheel, server: str) -> str:
    """The script for machines that reach this server at this address. Raises NotFound."""
    if not _ADDRESS.fullmatch(server):
        raise NotFound
    text = read_script()
    values = {
        "SERVER": server,
        "WHEEL": wheel.name,
        "SHA256": wheel.sha256,
        "KEY": wheel.key,
        "FINGERPRINT": wheel.fingerprint,
    }
    for word, value in values.items():
        text = text.replace(f"@{word}@", value)
    return text


@cache
def read_script() -> str:
    """The script, which contains the installation part."""
    folder = find_packages()["worker"] / "renewal"
    installation = (folder / "installation.py").read_text(encoding="utf-8").rstrip()
    return (folder / SCRIPT).read_text(encoding="utf-8").replace("@INSTALLATION@", installation)
