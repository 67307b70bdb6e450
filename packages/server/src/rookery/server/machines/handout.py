"""Serves `/worker/`: the wheel for workers and the script that installs it."""

import html
import re
from functools import cache

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from rookery.core.protocol.ed25519 import fingerprint
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.scope import HANDOUT_PREFIX
from rookery.server.machines.wheel import Wheel, find_packages

SCRIPT = "install.sh"
# Characters of an address that are safe between quotes in the script.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]/~-]+")


def handout_routes() -> list[Route]:
    return [
        Route(HANDOUT_PREFIX, list_wheels, methods=["GET"]),
        Route(f"{HANDOUT_PREFIX}{{name}}", get_handout, methods=["GET"]),
    ]


@runs(Domain.LOOP, "a few lines from memory")
async def list_wheels(request: Request) -> Response:
    """The list of wheels, as a page that pip's --find-links can also read."""
    wheel = site_of(request).wheel
    name = html.escape(wheel.name)
    link = f'<a href="{HANDOUT_PREFIX}{name}#sha256={wheel.sha256}">{name}</a>'
    return HTMLResponse(f"<!DOCTYPE html><title>rookery</title>{link}\n")


@runs(Domain.LOOP, "bytes read at the start")
async def get_handout(request: Request) -> Response:
    """The wheel, or the script that installs it."""
    wheel, name = site_of(request).wheel, request.path_params["name"]
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
        "FINGERPRINT": fingerprint(bytes.fromhex(wheel.key)),
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
