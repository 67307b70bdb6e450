"""`/worker/`: the wheel and the scripts that install it."""

import html
import re
from functools import cache

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from rookery.boundary.domains import Domain, runs
from rookery.protocol.ed25519 import fingerprint
from rookery.web.answers import address_of
from rookery.web.faults import NotFound
from rookery.web.scope import HANDOUT_PREFIX
from rookery.web.wheel import PACKAGE, Wheel

SCRIPTS = ("install.sh", "install.ps1")
FOLDER = PACKAGE / "worker" / "renewal"
INSTALLATION = FOLDER / "installation.py"
# What goes into scripts between quotes.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]/~-]+")


class Handout:
    """Serves from memory: all files are read when the app is made."""

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel
        self._scripts = {name: read_script(name) for name in SCRIPTS}

    def routes(self) -> list[Route]:
        return [
            Route(HANDOUT_PREFIX, self.listing, methods=["GET"]),
            Route(f"{HANDOUT_PREFIX}{{name}}", self.one, methods=["GET"]),
        ]

    @runs(Domain.LOOP, "a few lines from memory")
    async def listing(self, request: Request) -> Response:
        """A page that pip's --find-links reads, too."""
        del request
        name = html.escape(self._wheel.name)
        link = f'<a href="{HANDOUT_PREFIX}{name}#sha256={self._wheel.sha256}">{name}</a>'
        return HTMLResponse(f"<!DOCTYPE html><title>rookery</title>{link}\n")

    @runs(Domain.LOOP, "bytes read at the start")
    async def one(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == self._wheel.name:
            headers = {"etag": f'"{self._wheel.sha256}"', "cache-control": "no-cache"}
            return Response(self._wheel.content, media_type="application/zip", headers=headers)
        if name not in self._scripts:
            raise NotFound
        return PlainTextResponse(self.script(name, address_of(request)))

    def script(self, name: str, server: str) -> str:
        """For machines that reach this server at that address; raises NotFound."""
        if not _ADDRESS.fullmatch(server):
            raise NotFound
        text = self._scripts[name]
        wheel = self._wheel
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
def read_script(name: str) -> str:
    """A script with the installation in it."""
    installation = INSTALLATION.read_text(encoding="utf-8").rstrip()
    return (FOLDER / name).read_text(encoding="utf-8").replace("@INSTALLATION@", installation)
