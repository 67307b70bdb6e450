"""Games and nets: large, kept compressed, sent piece by piece."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rookery.boundary.domains import Domain, runs
from rookery.protocol.user.names import net_hash, pgn_name, run_pgns_name
from rookery.service.blobs import Blobs, UnknownBlob
from rookery.service.nets import Net
from rookery.service.pgns import Pgn
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.user.pieces import Piece, piece_of, sent, unpacked, wanted_range
from rookery.web.api.v1.callers import fetcher_of, viewer_of
from rookery.web.faults import NotFound
from rookery.web.scope import header

GZIP = "application/gzip"
NO_GAMES = "There are no games."
FOR_EVER = "public, max-age=31536000, immutable"
FOR_EVER_HERE = "private, max-age=31536000, immutable"


class FileEndpoints:
    """Every file is looked for in a thread before the answer begins."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @runs(Domain.STREAM, "a file is read piece by piece in threads")
    async def pgn(self, request: Request) -> Response:
        named = str(request.path_params["name"])
        with refusals():
            name = pgn_name(named)
        await self._check_seen(request, name.run_id)
        uploads = await self._desk.pgns.of_task(name.run_id, name.task_id)
        pieces = await self._pieces(uploads[:1])
        headers = {**_attachment(named), "content-encoding": "gzip"}
        return sent(pieces, self._desk, GZIP, headers)

    @runs(Domain.STREAM, "files are read piece by piece in threads")
    async def run_pgns(self, request: Request) -> Response:
        named = str(request.path_params["name"])
        with refusals():
            run_id = run_pgns_name(named)
        await self._check_seen(request, run_id)
        pieces = await self._pieces(await self._desk.pgns.of_run(run_id))
        return sent(pieces, self._desk, GZIP, _attachment(named))

    @runs(Domain.STREAM, "a file is read piece by piece in threads")
    async def nn(self, request: Request) -> Response:
        desk, name = self._desk, str(request.path_params["name"])
        net = await self._net(name, await fetcher_of(request, desk))
        if header(request.scope, b"if-none-match") == _etag(net):
            return Response(status_code=304, headers=self._lasting(net))
        desk.downloads.note(name)
        if desk.nets_elsewhere:
            return RedirectResponse(f"{desk.nets_elsewhere}/nn/{name}", 302)
        whole = await self._found(desk.net_files, net.blob, net.size)
        return self._sent_net(request, net, whole)

    def _sent_net(self, request: Request, net: Net, whole: Piece) -> Response:
        """As it is kept, or a part of that; unpacked for those who take no gzip."""
        if "gzip" not in header(request.scope, b"accept-encoding").lower():
            return unpacked(whole, self._desk, {"vary": "accept-encoding", **self._lasting(net)})
        headers = {
            "content-encoding": "gzip",
            "vary": "accept-encoding",
            "accept-ranges": "bytes",
            **self._lasting(net),
        }
        part = wanted_range(header(request.scope, b"range"), net.size)
        if part is None:
            return sent([whole], self._desk, "application/octet-stream", headers)
        headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{net.size}"
        piece = Piece(whole.path, part.start, len(part))
        return sent([piece], self._desk, "application/octet-stream", headers, status=206)

    def _lasting(self, net: Net) -> dict[str, str]:
        """A net never changes: its name is its hash."""
        private = self._desk.holdings.is_private(net.name)
        lasting = FOR_EVER_HERE if private else FOR_EVER
        return {"etag": _etag(net), "cache-control": lasting}

    async def _net(self, name: str, fetcher: str | None) -> Net:
        with refusals():
            net_hash(name)
        net = await self._desk.nets.by_name(name)
        if net is None or not self._desk.holdings.sees(fetcher, name):
            raise NotFound("There is no such net.")
        return net

    async def _check_seen(self, request: Request, run_id: str) -> None:
        """Raises NotFound; where nothing is hidden, no run need be looked at."""
        desk, viewer = self._desk, await viewer_of(request, self._desk.bearers)
        if desk.privacy.hidden(viewer):
            run = await desk.fleet.run(run_id)
            if run is not None and not desk.privacy.sees(viewer, run):
                raise NotFound(NO_GAMES)

    async def _pieces(self, uploads: tuple[Pgn, ...]) -> list[Piece]:
        """Where the uploads lie; those whose time is up are not there any more."""
        found = await self._desk.threads.io(_those_there, self._desk.games, uploads)
        if not found:
            raise NotFound(NO_GAMES)
        return found

    async def _found(self, blobs: Blobs, key: str, size: int) -> Piece:
        try:
            return await self._desk.threads.io(piece_of, blobs, key, size)
        except UnknownBlob:
            raise NotFound("There is no such net.") from None


def _those_there(blobs: Blobs, uploads: tuple[Pgn, ...]) -> list[Piece]:
    found = []
    for upload in uploads:
        try:
            found.append(piece_of(blobs, upload.blob, upload.size))
        except UnknownBlob:
            continue
    return found


def _attachment(name: str) -> dict[str, str]:
    # Names were matched up to their first dot; a quote after it would end the header's text.
    safe = "".join(each for each in name if each.isalnum() or each in "-._")
    return {"content-disposition": f'attachment; filename="{safe}"'}


def _etag(net: Net) -> str:
    return f'"{net.name}"'
